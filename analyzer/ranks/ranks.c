/* SPDX-License-Identifier: BSD-2-Clause */
#include "ranks.h"

#include "ranks_steps.h"
#include "tools/alloc.h"

#include <stdlib.h>

const char *rank_doing_name(int doing)
{
	switch (doing) {
	case RANK_COMPUTE:
		return "compute";
	case RANK_COPY:
		return "copy";
	case RANK_COMM:
		return "communication";
	default:
		return cause_name((enum cause_id)doing);
	}
}

/* What another tool's trace says it is; else the number of a device's process in its largest communicator, the first of them. */
static uint32_t rank_on(const struct trace *t, uint32_t ordinal)
{
	const struct comm *best = NULL;

	if (t->imported && t->imported->ranks != GST_NONE)
		return t->imported->rank;
	for (size_t i = 0; i < t->n_comms; i++) {
		const struct comm *c = &t->comms[i];

		if (c->rank == GST_NONE || c->rank >= c->size || (c->device != 0xffff && c->device != ordinal))
			continue;
		if (!best || c->size > best->size)
			best = c;
	}
	return best ? best->rank : GST_NONE;
}

static void number_ranks(struct ranks *r)
{
	bool any = false;

	for (size_t i = 0; i < r->timeline->run->n_traces; i++) {
		const struct trace *t = r->timeline->run->traces[i];

		any |= t->n_comms > 0 || (t->imported && t->imported->ranks != GST_NONE);
	}
	for (size_t i = 0; i < r->n_devices; i++)
		r->devices[i].rank = any ? GST_NONE : 0;
	for (size_t i = 0; i < r->n_members; i++) {
		struct rank_member *m = &r->members[i];
		uint32_t *rank = &r->devices[m->device].rank;

		m->rank = rank_on(m->trace, m->ordinal);
		if (m->rank < *rank)
			*rank = m->rank;
	}
}

enum err_kind ranks_build(struct ranks *out, const struct timeline *tl, const struct threads *threads,
			  const struct attribution *const attributions[], struct error *e)
{
	bool ok;

	*out = (struct ranks){ .timeline = tl, .n_devices = tl->n_devices };
	out->devices = array_new(tl->n_devices, sizeof(*out->devices));
	ok = out->devices && ranks_find_clocks(out) && ranks_find_parts(out, threads);
	if (ok && out->n_parts >= GST_NONE) { /* they are numbered */
		ranks_free(out);
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "more collectives than can be compared at once");
	}
	if (ok && ranks_check_counted(out) && ranks_match(out) && ranks_align(out) && ranks_split(out)) {
		number_ranks(out);
		if (ranks_find_stragglers(out, attributions))
			return ERR_NONE;
	}
	ranks_free(out);
	return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
}

void ranks_free(struct ranks *r)
{
	for (size_t i = 0; r->devices && i < r->n_devices; i++) {
		intervals_free(&r->devices[i].comm);
		intervals_free(&r->devices[i].copy);
		intervals_free(&r->devices[i].wait);
		intervals_free(&r->devices[i].transfer);
	}
	free(r->clocks);
	free(r->clock_of);
	free(r->members);
	free(r->parts);
	free(r->collectives);
	free(r->stragglers);
	free(r->devices);
	*r = (struct ranks){ 0 };
}

uint32_t ranks_device_clock(const struct ranks *r, size_t device)
{
	for (size_t i = 0; i < r->n_members; i++)
		if (r->members[i].device == device)
			return r->members[i].clock;
	return 0;
}
