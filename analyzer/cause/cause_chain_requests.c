/* SPDX-License-Identifier: BSD-2-Clause */
#include "cause_chain_requests.h"

#include <stdio.h>
#include <string.h>

#include "cause_chain_leaf.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/text.h"

/* Where requests took less of a wait than this, something above the device held them back: a limit, or another's read of the same pages. */
#define LITTLE(part, whole) ((part)*4 < (whole))
#define MOST_LOOKED_AT 100000 /* requests of one wait: beyond, the sums are of these */

static bool done_before(const void *element, const void *key)
{
	return ((const struct host_request *)element)->done_ns < *(const int64_t *)key;
}

static bool belongs(const struct host_trace *h, const struct host_request *r, const struct host_task *task,
		    const struct host_what *w)
{
	if (w && w->inode && r->inode) /* an overlay's file is another one below: then who asked for it tells */
		if (r->inode == w->inode && (!r->file_dev || !w->dev || r->file_dev == w->dev))
			return true;
	return task && r->task != HOST_NOBODY && &h->tasks[r->task] == task;
}

static void add(struct requests_sum *sum, const struct host_request *r, int64_t *covered_until, int64_t begin_ns,
		int64_t end_ns)
{
	int64_t from = r->queued_known ? r->queued_ns : r->issued_known ? r->issued_ns : r->done_ns;

	if (!sum->n++)
		sum->dev = r->dev;
	sum->bytes += r->bytes;
	if (r->issued_known) {
		sum->device_known = true;
		sum->worst_device_ns = max64(sum->worst_device_ns, r->done_ns - r->issued_ns);
		if (r->queued_known)
			sum->worst_queue_ns = max64(sum->worst_queue_ns, r->issued_ns - r->queued_ns);
	}
	from = max64(max64(from, begin_ns),
		     *covered_until); /* by done: what lies before was counted, or nothing was under way */
	if (min64(r->done_ns, end_ns) > from)
		sum->covered_ns += min64(r->done_ns, end_ns) - from;
	*covered_until = max64(*covered_until, r->done_ns);
}

struct requests_sum requests_of(const struct host_trace *h, const struct chain_step *leaf, int64_t begin_ns,
				int64_t end_ns)
{
	const struct host_what *w = step_what(leaf);
	struct requests_sum sum = { 0 };
	int64_t covered_until = begin_ns;
	size_t first = array_first(h->requests, h->n_requests, sizeof(*h->requests), done_before, &begin_ns);

	for (size_t i = first; i < h->n_requests && h->requests[i].done_ns <= end_ns && i - first < MOST_LOOKED_AT; i++)
		if (belongs(h, &h->requests[i], leaf->task, w))
			add(&sum, &h->requests[i], &covered_until, begin_ns, end_ns);
	return sum;
}

void requests_words(char *buf, size_t size, const struct host_trace *h, const struct chain_step *leaf, int64_t begin_ns,
		    int64_t end_ns)
{
	struct requests_sum sum;
	char bytes[TEXT_SHORT], device[TEXT_SHORT], queue[TEXT_SHORT];

	*buf = 0;
	if (!(h->probes.watched & 1u << GST_PROBE_BLOCK))
		return;
	sum = requests_of(h, leaf, begin_ns, end_ns);
	if (!sum.n) {
		snprintf(buf, size,
			 "no block request of it is on record: held back above the device, or read by another");
		return;
	}
	snprintf(buf, size, "%zu block request%s on %u:%u, %s", sum.n, sum.n == 1 ? "" : "s", sum.dev >> 20,
		 sum.dev & 0xfffff, text_bytes(bytes, sum.bytes));
	if (!sum.device_known)
		return;
	size_t used = strlen(buf);
	snprintf(buf + used, size - used, ": worst %s in the device, %s queued%s",
		 text_duration(device, sum.worst_device_ns), text_duration(queue, sum.worst_queue_ns),
		 LITTLE(sum.covered_ns, end_ns - begin_ns) ? "; throttled above the device" : "");
}
