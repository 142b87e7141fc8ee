/* SPDX-License-Identifier: BSD-2-Clause */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/gst_compact.h"

size_t fuzz_compared;

void require(bool holds)
{
	if (!holds)
		abort();
}

/* One field of the header out of the text; not terminated where it fills the field. Returns what is left of the text. */
static size_t take_field(char *field, size_t size, const uint8_t **text, size_t left)
{
	const uint8_t *end = memchr(*text, 0, left);
	size_t n = end ? (size_t)(end - *text) : left;

	memset(field, 0, size);
	memcpy(field, *text, n < size ? n : size);
	n += end != NULL;
	*text += n;
	return left - n;
}

static void describe(struct gst_image *image, unsigned number, unsigned seconds, const uint8_t *text, size_t left)
{
	struct gst_file_header *h = gst_image_header(image);

	h->pid += number;
	h->start_real_ns = 1000000000000000000u + seconds * 1000000000ull;
	left = take_field(h->run_id, sizeof(h->run_id), &text, left);
	if (left)
		left = take_field(h->host, sizeof(h->host), &text, left);
	if (left)
		take_field(h->cmdline, sizeof(h->cmdline), &text, left);
	gst_image_seal(image);
}

size_t fuzz_expand(struct gst_image images[FUZZ_TRACES], const uint8_t *data, size_t len)
{
	size_t wanted = len ? 1 + data[0] % FUZZ_TRACES : 0, n = 0;
	const uint8_t *at = data + 1, *end = data + len;

	while (n < wanted && end - at >= 4) {
		size_t bytes = at[0] | (size_t)at[1] << 8, text = at[3];
		unsigned seconds = at[2];
		const uint8_t *words = at + 4;

		if ((size_t)(end - words) < text)
			break;
		at = words + text;
		if (n + 1 == wanted || bytes > (size_t)(end - at))
			bytes = (size_t)(end - at);
		if (!gst_expand(&images[n], at, bytes))
			break;
		describe(&images[n], (unsigned)n, seconds, words, text);
		n++;
		at += bytes;
	}
	return n;
}

void fuzz_check_device(const struct device_timeline *d)
{
	int64_t sum = d->compute_ns + d->comm_ns + d->memset_ns, idle = 0, at = d->begin_ns;

	for (int i = 0; i < 8; i++)
		sum += d->copy_ns[i];
	for (size_t i = 0; i < d->n_gaps; i++) {
		require(d->gaps[i].begin_ns >= at && d->gaps[i].end_ns >= d->gaps[i].begin_ns);
		require(d->gaps[i].begin_error_ns >= 0 && d->gaps[i].end_error_ns >= 0);
		idle += d->gaps[i].end_ns - d->gaps[i].begin_ns;
		at = d->gaps[i].end_ns;
	}
	require(at <= d->end_ns);
	require(idle == d->idle_ns && sum + idle == d->end_ns - d->begin_ns);
	require(d->idle_error_ns >= 0 && d->unresolved_ns >= 0 && d->unresolved_ns <= d->end_ns - d->begin_ns);
	at = d->begin_ns;
	for (size_t i = 0; i < d->n_unresolved; i++) {
		require(d->unresolved[i].begin_ns >= at && d->unresolved[i].end_ns <= d->end_ns);
		at = d->unresolved[i].end_ns;
	}
	for (size_t i = 0; i < d->n_ops; i++)
		require(d->ops[i].begin_ns <= d->ops[i].end_ns);
}
