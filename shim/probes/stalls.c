/* SPDX-License-Identifier: BSD-2-Clause */
#include "stalls.h"

#include "proc_wait.h"

#define ENOUGH_NS 200000u   /* of waiting */
#define LONG_NS 100000000u  /* from the first to the last one */
#define BESIDE_NS 20000000u /* further apart, two are not of one stretch */

static void write_one(struct stall *k, struct host_file *f, uint32_t tid)
{
	struct gst_stalls r = {
		.begin = k->begin,
		.end = k->end,
		.blocked_ns = k->blocked_ns,
		.queued_ns = k->queued_ns,
		.throttled_ns = k->throttled_ns,
		.tid = tid,
		.count = k->count,
		.last_offset = k->last_offset,
		.what = k->what,
	};

	if (k->begin)
		host_file_append(f, GST_STALLS, sizeof(r), &r);
	k->begin = 0;
}

/* The one of this kind; else a free one; else the one that has waited longest for more, written. */
static struct stall *kind_of(struct stalls *s, struct host_file *f, uint32_t tid, const struct gst_wait_for *what)
{
	struct stall *oldest = &s->kind[0];

	for (struct stall *k = s->kind; k < s->kind + STALL_KINDS; k++)
		if (k->begin && proc_wait_same(&k->what, what))
			return k;
	for (struct stall *k = s->kind; k < s->kind + STALL_KINDS; k++) {
		if (!k->begin)
			return k;
		if (k->end < oldest->end)
			oldest = k;
	}
	write_one(oldest, f, tid);
	return oldest;
}

/* A program may ask for any number of bytes. */
static uint64_t bytes_of(const struct stall *part)
{
	uint64_t bytes;

	return __builtin_mul_overflow(part->what.bytes, (uint64_t)part->count, &bytes) ? UINT64_MAX : bytes;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void stalls_add(struct stalls *s, struct host_file *f, uint32_t tid, const struct stall *part)
{
	struct stall *k = kind_of(s, f, tid, &part->what);

	if (k->begin && part->begin > k->end + BESIDE_NS)
		write_one(k, f, tid);
	if (!k->begin) {
		*k = *part;
		k->what.bytes = bytes_of(part);
		k->last_offset = part->what.offset;
	} else {
		k->end = part->end > k->end ? part->end : k->end;
		k->blocked_ns += part->blocked_ns;
		k->queued_ns += part->queued_ns;
		k->throttled_ns += part->throttled_ns;
		k->count += part->count;
		k->what.bytes = sum(k->what.bytes, bytes_of(part));
		if (part->what.offset != UINT64_MAX) {
			k->last_offset = part->what.offset;
			if (k->what.offset == UINT64_MAX || part->what.offset < k->what.offset)
				k->what.offset = part->what.offset;
		}
	}
	if (k->blocked_ns + k->queued_ns >= ENOUGH_NS || k->end - k->begin >= LONG_NS)
		write_one(k, f, tid);
}

void stalls_write(struct stalls *s, struct host_file *f, uint32_t tid)
{
	for (struct stall *k = s->kind; k < s->kind + STALL_KINDS; k++)
		write_one(k, f, tid);
}
