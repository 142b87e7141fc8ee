/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as an archive, and any bytes packed: nothing crashes, memory stays bounded, and what was packed comes back. The first byte says what
 * the others are: 0 an archive as it is; 1 an archive whose check values are put right, so that what is behind them is met; 2 a segment to be packed; 3 a
 * recording in its compact form (tests/support/gst_compact.h), whose segments are packed; 4 a block, or else columns, with what might be said of segments. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "common.h"
#include "pack/pack_format.h"
#include "pack/pack_model.h"
#include "pack/pack_read.h"
#include "tests/support/gst_compact.h"

#define BYTES_MOST (64u << 20) /* of one member: a few bytes may say much more */

static bool take_some(void *to, const uint8_t *bytes, size_t n, uint64_t at, struct error *e)
{
	uint64_t *sum = to;
	volatile uint8_t any = 0;

	require(at == *sum && n <= PACK_BLOCK_BYTES);
	for (size_t i = 0; i < n; i++)
		any |= bytes[i]; /* each is there */
	*sum += n;
	if (*sum < BYTES_MOST)
		return true;
	err_set(e, ERR_FORMAT, "fuzz.gpk", 0, "enough");
	return false;
}

static void open_archive(const uint8_t *bytes, size_t n)
{
	struct pack_file *p;
	struct error e;

	if (pack_open_mem(&p, bytes, n, "fuzz.gpk", &e)) {
		require(e.kind != ERR_FORMAT || e.byte <= n);
		return;
	}
	pack_check(p, &e);
	for (size_t i = 0; i < pack_members(p) && i < 4; i++) {
		struct pack_member m = pack_member(p, i);
		uint64_t sum = 0;
		uint8_t *front = NULL;
		size_t n_front;

		require(pack_name_fits(m.name, strlen(m.name)) && m.length <= PACK_LENGTH_MOST);
		if (pack_front(p, i, &front, &n_front, &e) == ERR_NONE)
			require(n_front <= m.length);
		free(front);
		if (pack_unpack(p, i, take_some, &sum, &e) == ERR_NONE)
			require(sum == m.length);
	}
	pack_close(p);
}

/* Every check that can be found is made to hold. */
static void put_right(uint8_t *bytes, size_t n)
{
	struct pack_header h;
	struct pack_end end;
	uint64_t at = sizeof(h);

	if (n < sizeof(h) + sizeof(end))
		return;
	memcpy(&h, bytes, sizeof(h));
	memcpy(h.magic, PACK_MAGIC, sizeof(h.magic));
	h.version = PACK_VERSION;
	h.check = (uint32_t)crc32(0, (const uint8_t *)&h, offsetof(struct pack_header, check));
	memcpy(bytes, &h, sizeof(h));
	memcpy(&end, bytes + n - sizeof(end), sizeof(end));
	end.mark = PACK_END_MARK;
	end.zero = 0;
	if (end.directory < sizeof(h) || end.directory > n - sizeof(end))
		return;
	end.bytes = n - sizeof(end) - end.directory;
	end.check = (uint32_t)crc32(0, bytes + end.directory, (uInt)end.bytes);
	end.check = (uint32_t)crc32(end.check, (const uint8_t *)&end, offsetof(struct pack_end, check));
	memcpy(bytes + n - sizeof(end), &end, sizeof(end));
	while (end.directory - at >= sizeof(struct pack_block)) {
		struct pack_block b;
		uint64_t size;

		memcpy(&b, bytes + at, sizeof(b));
		size = (uint64_t)b.packed + b.bits;
		if (b.mark != PACK_BLOCK_MARK || size > end.directory - at - sizeof(b))
			return;
		b.check = (uint32_t)crc32(0, (const uint8_t *)&b, offsetof(struct pack_block, check));
		if (size)
			b.check = (uint32_t)crc32(b.check, bytes + at + sizeof(b), (uInt)size);
		memcpy(bytes + at, &b, sizeof(b));
		at += sizeof(b) + size;
	}
}

static const struct pack_clock stepped = { .step = 49ull << 31, .pace = 1753000000 }, none;

static bool segments(struct pack_model *m, uint8_t *bytes, size_t n)
{
	for (size_t at = 0; at < n; at += GST_SEGMENT_BYTES)
		if (!pack_model_segment(m, bytes + at,
					n - at < GST_SEGMENT_BYTES ? (uint32_t)(n - at) : GST_SEGMENT_BYTES))
			return false;
	return true;
}

static void pack_segments(const uint8_t *bytes, size_t n, uint32_t kind)
{
	struct pack_model a, b;
	struct pack_column whole = { 0 };
	uint8_t *copy = malloc(n + 1);

	require(copy && pack_model_new(&a, kind, n % 3 ? none : stepped) &&
		pack_model_new(&b, kind, n % 3 ? none : stepped));
	memcpy(copy, bytes, n);
	pack_columns_pack(&a.columns);
	pack_model_begin(&a);
	require(segments(&a, copy, n) && pack_columns_join(&a.columns, &whole));
	require(pack_columns_unpack(&b.columns, whole.bytes, whole.n, a.columns.bits.bytes, a.columns.bits.n));
	pack_model_begin(&b);
	memset(copy, 0, n);
	require(segments(&b, copy, n) && pack_columns_ended(&b.columns) && memcmp(copy, bytes, n) == 0);
	free(whole.bytes);
	free(copy);
	pack_model_free(&a);
	pack_model_free(&b);
}

static void unpack_segments(const uint8_t *whole, size_t n, const uint8_t *bits, size_t n_bits)
{
	struct pack_model m;
	uint8_t *bytes = calloc(3, GST_SEGMENT_BYTES);

	require(bytes && pack_model_new(&m, n_bits & 1, n_bits & 2 ? stepped : none));
	pack_model_begin(&m);
	if (pack_columns_unpack(&m.columns, whole, n, bits, n_bits))
		segments(&m, bytes, 2 * GST_SEGMENT_BYTES + 1000);
	pack_model_free(&m);
	free(bytes);
}

static void unpack_block(const uint8_t *bytes, size_t n)
{
	struct pack_block b = { 0 };
	uint8_t *plain;
	size_t got;

	if (n >= sizeof(b))
		memcpy(&b, bytes, sizeof(b));
	if (b.mark != PACK_BLOCK_MARK || b.packed > n - sizeof(b) || b.plain > PACK_PLAIN_MOST) {
		unpack_segments(bytes, n - n / 4, bytes + n - n / 4, n / 4);
		return;
	}
	plain = malloc(b.plain + 1);
	require(plain != NULL);
	got = ZSTD_decompress(plain, b.plain, bytes + sizeof(b), b.packed);
	if (!ZSTD_isError(got))
		unpack_segments(plain, got, bytes + sizeof(b) + b.packed, n - sizeof(b) - b.packed);
	free(plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *copy;
	struct gst_image image;

	if (len < 2)
		return 0;
	copy = malloc(len - 1);
	require(copy != NULL);
	memcpy(copy, data + 1, len - 1);
	switch (data[0] % 5) {
	case 1:
		put_right(copy, len - 1); /* fall through */
	case 0:
		open_archive(copy, len - 1);
		break;
	case 2:
		pack_segments(copy, len - 1, data[0] / 5 & 1);
		break;
	case 3:
		if (gst_expand(&image, copy, len - 1)) {
			pack_segments(image.bytes + GST_SEGMENTS_OFFSET, image.len - GST_SEGMENTS_OFFSET,
				      gst_image_header(&image)->kind);
			gst_image_free(&image);
		}
		break;
	case 4:
		unpack_block(copy, len - 1);
		break;
	}
	free(copy);
	return 0;
}
