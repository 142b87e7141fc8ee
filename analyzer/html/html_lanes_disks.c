/* SPDX-License-Identifier: BSD-2-Clause */
/* html_lanes_disks.c: how many requests each disk had at once. */
#include "html_lanes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/alloc.h"
#include "tools/text.h"

static int64_t begin_of(const struct host_request *r)
{
	return r->queued_known ? r->queued_ns : r->issued_known ? r->issued_ns : r->done_ns;
}

static int by_begin(const void *a, const void *b)
{
	const struct host_request *p = *(const struct host_request *const *)a,
				  *q = *(const struct host_request *const *)b;
	int64_t i = begin_of(p), k = begin_of(q);

	return i != k ? (i > k) - (i < k) : (p > q) - (p < q);
}

static const char *request_name(const struct host_request *r)
{
	return r->flags & GST_REQUEST_FLUSH        ? "flush"
	       : r->flags & GST_REQUEST_WRITE      ? "write"
	       : r->flags & GST_REQUEST_READ_AHEAD ? "read ahead"
						   : "read";
}

static void say_request(const struct lanes *x, const struct lane_track *track, const struct lane_item *item,
			struct lane_words *w)
{
	const struct host_trace *h = track->of;
	const struct host_request *r = item->of;
	char bytes[TEXT_SHORT], wait[TEXT_SHORT];
	size_t used, size = sizeof(w->args_room);
	bool one = item->number == 1;

	(void)x;
	snprintf(w->name_room, sizeof(w->name_room), "%" PRIu64 " requests in flight", item->number);
	w->name = one ? request_name(r) : w->name_room;
	used = (size_t)snprintf(w->args_room, size, "%s%s%s",
				one ? "" : "the last of them: ", one ? "" : request_name(r), one ? "" : " ");
	used += (size_t)snprintf(w->args_room + used, size - used, "%s", text_bytes(bytes, r->bytes));
	if (r->task < h->n_tasks)
		used += (size_t)snprintf(w->args_room + used, size - used, "; for %.16s[%" PRIu32 "]",
					 h->tasks[r->task].name, host_own_tid(&h->tasks[r->task]));
	if (r->queued_known && r->issued_known)
		snprintf(w->args_room + used, size - used, "; %s in the queue",
			 text_duration(wait, r->issued_ns - r->queued_ns));
	w->args = w->args_room;
}

/* Which requests a disk had at once: stretches in which they are as many. */
struct flight {
	size_t track;
	int64_t at_ns;
	uint64_t reads, writes;
	const struct host_request *last; /* the one that came last */
};

static void fly_until(struct lanes *x, struct flight *f, int64_t ns)
{
	if (f->reads + f->writes && ns > f->at_ns)
		lanes_put(x, f->track, f->at_ns, ns, f->writes > f->reads ? HTML_IO_WRITE : HTML_IO_READ, f->last,
			  f->reads + f->writes);
	f->at_ns = ns;
}

static void count_in(struct flight *f, const struct host_request *r, bool comes)
{
	uint64_t *n = r->flags & GST_REQUEST_WRITE ? &f->writes : &f->reads;

	*n = comes ? *n + 1 : *n - 1;
	f->last = comes ? r : f->last;
}

/* by_begin: all of the file's; the file has them by end. */
static void disk(struct lanes *x, const struct host_trace *h, const struct host_request **by_begin, uint32_t dev,
		 size_t track)
{
	struct flight f = { .track = track };

	for (size_t came = 0, done = 0; done < h->n_requests;) {
		const struct host_request *comes = came < h->n_requests ? by_begin[came] : NULL,
					  *ends = &h->requests[done];
		bool next_comes = comes && begin_of(comes) <= ends->done_ns;
		const struct host_request *r = next_comes ? comes : ends;

		came += next_comes;
		done += !next_comes;
		if (r->dev != dev)
			continue;
		fly_until(x, &f, next_comes ? begin_of(r) : r->done_ns);
		count_in(&f, r, next_comes);
	}
}

#define DISKS 16

void lanes_disks(struct lanes *x, size_t host)
{
	const struct host_trace *h = x->h->s->run->hosts[host];
	const struct host_request **sorted = array_new(h->n_requests, sizeof(const struct host_request *));
	struct lane_track track = {
		.clock = lanes_host_clock(x, host), .device = -1, .kind = LANE_IO, .describe = say_request, .of = h
	};
	uint32_t devs[DISKS];
	size_t n_devs = 0;

	if (!sorted) {
		x->failed = true;
		return;
	}
	for (size_t i = 0; i < h->n_requests; i++)
		sorted[i] = &h->requests[i];
	array_sort(sorted, h->n_requests, sizeof(*sorted), by_begin);
	lanes_host_group(track.group, sizeof(track.group), x, host, "disks");
	for (size_t i = 0; i < h->n_requests; i++) {
		uint32_t dev = sorted[i]->dev;
		size_t k = 0;

		while (k < n_devs && devs[k] != dev)
			k++;
		if (k < n_devs)
			continue;
		if (n_devs == DISKS) {
			x->left_out += !x->keep;
			continue;
		}
		devs[n_devs++] = dev;
		snprintf(track.name, sizeof(track.name), "disk %" PRIu32 ":%" PRIu32 ": requests at once", dev >> 20,
			 dev & 0xfffff);
		track.order = LANE_ORDER_REQUESTS | (uint64_t)host << 40 | dev;
		disk(x, h, sorted, dev, lanes_track(x, h->requests, dev, &track));
	}
	free(sorted);
}
