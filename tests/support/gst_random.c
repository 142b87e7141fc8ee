/* SPDX-License-Identifier: BSD-2-Clause */
#include "gst_random.h"

static uint64_t state = 1;

void gst_random_seed(uint64_t seed)
{
	state = seed;
}

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

uint64_t gst_random_below(uint64_t n)
{
	return next() % n;
}

uint64_t gst_random_number(void)
{
	unsigned bits = (unsigned)gst_random_below(65);

	return bits ? next() >> (64 - bits) : 0;
}

/* A segment that is full takes none. */
static void add_record(struct gst_image *image)
{
	static const uint16_t sizes[] = { 0, 64, 24, 40, 104, 32, 64, 40, 40, 48, 32, 56, 16, 16, 24, 16, 48, 64, 32 };
	union {
		uint8_t bytes[512];
		uint64_t words[64];
	} record;
	uint16_t type = (uint16_t)(1 + gst_random_below(52));
	size_t size = 8 * (1 + gst_random_below(40));

	for (unsigned i = 0; i < 64; i++)
		record.words[i] = gst_random_below(3) ? gst_random_below(4) : gst_random_number();
	if (gst_random_below(3)) { /* as one of that type would be */
		type = (uint16_t)(1 + gst_random_below(sizeof(sizes) / sizeof(sizes[0]) - 1));
		size = sizes[type];
	}
	gst_image_add(image, type, record.bytes, size, gst_random_below(20) != 0);
}

bool gst_random_image(struct gst_image *image, unsigned records)
{
	if (!gst_image_new(image) || !gst_image_segment(image, 10, "main"))
		return false;
	for (unsigned i = 0; i < records; i++) {
		if (gst_random_below(100) == 0 && image->n_segments < 8 &&
		    !gst_image_segment(image, (uint32_t)(10 + gst_random_below(3)), "other"))
			return false;
		add_record(image);
	}
	return true;
}
