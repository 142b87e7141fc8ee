/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks_hosts.c: whose clocks the processes' times are on, and a time of one of them on the reference's. */
#include "ranks_steps.h"

#include "alloc.h"
#include "ns.h"
#include "ranks_fit.h"

#include <string.h>

#define SAME_BOOT_NS 1000000000         /* of one host's name: the wall clock is set now and then, by less than that */
#define DRAWN_MAX_NS ((int64_t)1 << 61) /* so that differences fit */

static bool same_clock(const struct gst_file_header *a, const struct gst_file_header *b)
{
	int64_t apart;

	if (strcmp(a->host, b->host) != 0)
		return false;
	if (!a->start_real_ns || !b->start_real_ns)
		return true;
	return !__builtin_sub_overflow((int64_t)(a->start_real_ns - a->start_mono_ns),
				       (int64_t)(b->start_real_ns - b->start_mono_ns), &apart) &&
	       apart < SAME_BOOT_NS && apart > -SAME_BOOT_NS;
}

bool ranks_find_clocks(struct ranks *r)
{
	const struct run *run = r->timeline->run;

	r->clocks = array_new(run->n_traces, sizeof(*r->clocks));
	r->clock_of = array_new(run->n_traces, sizeof(*r->clock_of));
	if (!r->clocks || !r->clock_of)
		return false;
	for (size_t i = 0; i < run->n_traces; i++) {
		const struct gst_file_header *h = &run->traces[i]->header;
		size_t k = 0;

		while (k < r->n_clocks && !same_clock(r->clocks[k].header, h))
			k++;
		if (k == r->n_clocks)
			r->clocks[r->n_clocks++] = (struct rank_clock){ .header = h };
		r->clock_of[i] = (uint32_t)k;
	}
	return true;
}

int64_t rank_clock_reference(const struct rank_clock *c, int64_t ns)
{
	const struct fit f = { c->at_ns, c->offset_ns, c->drift };

	return sum64(ns, fit_away(&f, ns));
}

int64_t ranks_drawn_ns(const struct ranks *r, uint32_t clock, int64_t ns)
{
	const struct gst_file_header *own = r->clocks[clock].header, *other = own;
	int64_t apart;

	if (r->clocks[clock].aligned)
		return rank_clock_reference(&r->clocks[clock], ns);
	for (size_t i = 0; i < r->n_clocks; i++)
		other = r->clocks[i].reference ? r->clocks[i].header : other;
	if (!own->start_real_ns || !other->start_real_ns ||
	    __builtin_sub_overflow((int64_t)(own->start_real_ns - own->start_mono_ns),
				   (int64_t)(other->start_real_ns - other->start_mono_ns), &apart))
		return ns;
	return clamp64(sum64(ns, apart), -DRAWN_MAX_NS, DRAWN_MAX_NS);
}
