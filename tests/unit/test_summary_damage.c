/* SPDX-License-Identifier: BSD-2-Clause */
/* Random runs (summary_machine.h) of which one file, a process's or the host probes', is cut short or has a byte flipped, through the whole
 * pipeline: it never fails for it, everything sums whatever the bytes say, and what a cut took away is not taken for idle time.
 * SEED in the environment: that one alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "summary_analysed.h"
#include "summary_machine.h"
#include "summary_reference.h"
#include "summary_sound.h"

#define RUNS 24
#define STRIDE 29 /* bytes from one flip to the next */
#define CUTS 40   /* of each file */

static uint64_t current; /* seed */

static struct {
	size_t runs, opened, damaged;
} seen;

static struct gst_image *image_of(struct analysed *a, size_t file)
{
	return &a->text.files[file].image;
}

/* The end of what was written: the rest of the last segment is empty. */
static size_t used(const struct gst_image *image)
{
	return GST_SEGMENTS_OFFSET + (size_t)(image->n_segments - 1) * GST_SEGMENT_BYTES +
	       image->offset[image->n_segments - 1];
}

/* Until the cut, no gap holds work. */
static const char *check_gaps(const struct analysed *a, const struct machine *m)
{
	static struct partition_of_all p;
	int64_t until = INT64_MAX;

	for (size_t i = 0; i < a->run.n_traces; i++)
		until = min64(until, a->traces[i]->cut_ns);
	for (size_t i = 0; i < a->summary.n_devices; i++) {
		const struct device_timeline *d = a->summary.devices[i].timeline;

		reference(&p, m, d->device.uuid[0] - 1u);
		for (size_t k = 0; k < d->n_gaps; k++) {
			int64_t begin = d->gaps[k].begin_ns + d->gaps[k].begin_error_ns;
			int64_t end = min64(until, d->gaps[k].end_ns - d->gaps[k].end_error_ns);

			if (begin < end && reference_busy(&p, begin, end))
				return "a gap holds no work";
		}
	}
	return NULL;
}

static void analyse(struct analysed *a, const struct machine *m, bool cut, size_t file, size_t byte)
{
	size_t opened = analysed_build(a);
	const char *why = NULL;

	seen.runs++;
	seen.opened += opened == a->text.n;
	for (size_t i = 0; i < a->run.n_traces; i++)
		seen.damaged += a->traces[i]->damage.kind != ERR_NONE;
	if (opened)
		why = summary_unsound(&a->summary);
	/* of operations without a call nobody knows that they were lost */
	if (!why && cut && opened == a->text.n && !m->strays)
		why = check_gaps(a, m);
	if (why)
		fail_msg("SEED=%llu: %s at byte %zu of %s: it does not hold that %s", (unsigned long long)current,
			 cut ? "cut" : "a flip", byte, a->text.files[file].name, why);
	if (opened)
		analysed_release(a);
	else
		for (size_t i = 0; i < a->run.n_hosts; i++)
			host_trace_free(a->hosts[i]);
}

/* Returns the byte behind which the next one is flipped; segments are mostly empty. */
static size_t next_byte(const struct gst_image *image, size_t byte)
{
	size_t segment;

	if (byte < GST_SEGMENTS_OFFSET)
		return byte < GST_DIRECTORY_OFFSET + 64 ? byte : GST_SEGMENTS_OFFSET + byte % STRIDE;
	segment = (byte - GST_SEGMENTS_OFFSET) / GST_SEGMENT_BYTES;
	if (segment < image->n_segments &&
	    (byte - GST_SEGMENTS_OFFSET) % GST_SEGMENT_BYTES >= image->offset[segment] + 8)
		return GST_SEGMENTS_OFFSET + (segment + 1) * GST_SEGMENT_BYTES + byte % STRIDE;
	return byte;
}

static void flip(struct machine *m)
{
	struct analysed a;

	analysed_parse(&a, m->out.text);
	for (size_t file = 0; file < a.text.n; file++) {
		struct gst_image *image = image_of(&a, file);

		for (size_t byte = random32(m) % STRIDE; byte < used(image);
		     byte = next_byte(image, byte + (byte < GST_DIRECTORY_OFFSET ? 16 : 1) * STRIDE)) {
			uint8_t was = image->bytes[byte];

			image->bytes[byte] ^= (uint8_t)(one_in(m, 4) ? 0xff : 1u << random32(m) % 8);
			analyse(&a, m, false, file, byte);
			image->bytes[byte] = was;
		}
	}
	analysed_free(&a);
}

static void cut(struct machine *m)
{
	struct analysed a;

	analysed_parse(&a, m->out.text);
	for (size_t file = 0; file < a.text.n; file++) {
		struct gst_image *image = image_of(&a, file);
		size_t whole = image->len, segment, len;

		for (int i = 0; i < CUTS; i++) {
			segment = random32(m) % image->n_segments;
			len = GST_SEGMENTS_OFFSET + segment * GST_SEGMENT_BYTES +
			      random32(m) % (image->offset[segment] + 8);
			image->len = len;
			analyse(&a, m, true, file, len);
			image->len = whole;
		}
	}
	analysed_free(&a);
}

static void all(void (*damage)(struct machine *m))
{
	const char *only = getenv("SEED");
	uint64_t first = only ? strtoull(only, NULL, 10) : 1;

	memset(&seen, 0, sizeof(seen));
	for (uint64_t seed = first; seed <= (only ? first : FEWER(RUNS)); seed++) {
		uint32_t processes = 1 + (uint32_t)seed % 2;
		struct machine *m = machine_run(seed, processes, (uint32_t)(seed / 2) % (processes + 1), seed % 5 == 0);

		current = seed;
		damage(m);
		machine_free(m);
	}
	print_message("%zu damaged runs, all files of %zu opened, %zu said to be damaged\n", seen.runs, seen.opened,
		      seen.damaged);
}

static void flipped_bytes(void **state)
{
	(void)state;
	all(flip);
	assert_true(seen.damaged > 0 && seen.opened > seen.damaged && seen.opened < seen.runs);
}

static void files_cut_short(void **state)
{
	(void)state;
	all(cut);
	assert_true(seen.damaged > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(flipped_bytes), cmocka_unit_test(files_cut_short) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
