/* SPDX-License-Identifier: BSD-2-Clause */
/* html_time.c: the page's time: nanoseconds from the first thing that is drawn, all hosts on one clock. */
#include "html.h"

#include "tools/ns.h"

uint32_t html_clock_of_trace(const struct html *h, const struct trace *t)
{
	for (size_t i = 0; i < h->s->run->n_traces; i++)
		if (h->s->run->traces[i] == t)
			return h->s->ranks.clock_of[i];
	return 0;
}

uint32_t html_clock_of_device(const struct html *h, size_t device)
{
	return ranks_device_clock(&h->s->ranks, device);
}

struct span {
	int64_t begin_ns, end_ns;
};

static void take_in(struct span *span, const struct html *h, uint32_t clock, int64_t begin_ns, int64_t end_ns)
{
	if (!h->s->ranks.n_clocks)
		return;
	span->begin_ns = min64(span->begin_ns, ranks_drawn_ns(&h->s->ranks, clock, begin_ns));
	span->end_ns = max64(span->end_ns, ranks_drawn_ns(&h->s->ranks, clock, end_ns));
}

void html_set_time(struct html *h)
{
	struct span span = { INT64_MAX, INT64_MIN };

	for (size_t i = 0; i < h->s->run->n_traces; i++) {
		const struct trace *t = h->s->run->traces[i];
		int64_t begin_ns = t->begin_ns;

		begin_ns = t->n_calls ? min64(begin_ns, t->calls[0].begin_ns) : begin_ns;
		begin_ns = t->n_nccl ? min64(begin_ns, t->nccl[0].begin_ns) : begin_ns;
		begin_ns = t->n_ranges ? min64(begin_ns, t->ranges[0].begin_ns) : begin_ns;
		take_in(&span, h, h->s->ranks.clock_of[i], begin_ns, t->end_ns);
	}
	for (size_t i = 0; i < h->s->n_devices; i++) {
		const struct device_timeline *d = h->s->devices[i].timeline;

		take_in(&span, h, html_clock_of_device(h, i), d->begin_ns, d->end_ns);
	}
	if (span.end_ns < span.begin_ns)
		span = (struct span){ 0, 0 };
	h->zero_ns = span.begin_ns;
	h->span_ns = (uint64_t)span.end_ns - (uint64_t)span.begin_ns;
}

uint64_t html_ns(const struct html *h, uint32_t clock, int64_t ns)
{
	int64_t drawn = h->s->ranks.n_clocks ? ranks_drawn_ns(&h->s->ranks, clock, ns) : ns;
	uint64_t at = drawn > h->zero_ns ? (uint64_t)drawn - (uint64_t)h->zero_ns : 0;

	return at < h->span_ns ? at : h->span_ns;
}
