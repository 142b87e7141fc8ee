/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks_hosts.c: whose clocks the processes' times are on, and a time of one of them on the reference's.
 *
 * Containers have names of their own and count on their machine's clock. But machines that were started together look like that as well. So each
 * name has a clock here, and those that may be one are one unless collectives say otherwise. */
#include "ranks_steps.h"

#include "ranks_fit.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "trace/same_clock.h"

#include <string.h>

#define DRAWN_MAX_NS ((int64_t)1 << 61) /* so that differences fit */

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

		while (k < r->n_clocks && (strncmp(r->clocks[k].header->host, h->host, sizeof(h->host)) != 0 ||
					   !same_clock(r->clocks[k].header, h)))
			k++;
		if (k == r->n_clocks)
			r->clocks[r->n_clocks++] = (struct rank_clock){ .header = h };
		r->clock_of[i] = (uint32_t)k;
	}
	return true;
}

bool ranks_adopt_clocks(struct ranks *r, struct fit *fits)
{
	bool any = false;

	for (size_t i = 0; i < r->n_clocks; i++)
		for (size_t k = 0; k < r->n_clocks && !r->clocks[i].aligned; k++) {
			if (!r->clocks[k].aligned || !same_clock(r->clocks[i].header, r->clocks[k].header))
				continue;
			fits[i] = fits[k];
			r->clocks[i].aligned = any = true;
		}
	return any;
}

struct span {
	int64_t begin_ns, end_ns;
};

/* When the clock's members are at work. */
static struct span span_of(const struct ranks *r, size_t clock)
{
	struct span s = { INT64_MAX, INT64_MIN };

	for (size_t i = 0; i < r->n_members; i++) {
		const struct device_timeline *d = &r->timeline->devices[r->members[i].device];

		if (r->members[i].clock != clock)
			continue;
		s.begin_ns = min64(s.begin_ns, d->begin_ns);
		s.end_ns = max64(s.end_ns, d->end_ns);
	}
	return s;
}

static bool agree(const struct fit *a, const struct fit *b, int64_t ns, int64_t error_ns)
{
	int64_t apart;

	return !__builtin_sub_overflow(fit_away(a, ns), fit_away(b, ns), &apart) && apart <= error_ns &&
	       apart >= -error_ns;
}

void ranks_join_clocks(const struct ranks *r, struct fit *fits, const int64_t *error_ns)
{
	for (size_t i = 0; i < r->n_clocks; i++) {
		struct span s = { 0 };
		bool looked = false, joined = !r->clocks[i].aligned || r->clocks[i].reference;

		for (size_t k = 0; k < r->n_clocks && !joined; k++) {
			int64_t error;

			if ((k >= i && !r->clocks[k].reference) || !r->clocks[k].aligned ||
			    !same_clock(r->clocks[i].header, r->clocks[k].header))
				continue;
			s = looked ? s : span_of(r, i);
			looked = true;
			error = sum64(error_ns[i], error_ns[k]);
			joined = s.begin_ns <= s.end_ns && agree(&fits[i], &fits[k], s.begin_ns, error) &&
				 agree(&fits[i], &fits[k], s.end_ns, error);
			if (joined)
				fits[i] = fits[k];
		}
	}
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
