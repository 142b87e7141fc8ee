/* SPDX-License-Identifier: BSD-2-Clause */
/* report_ranks_json.c: the key "ranks" (ARCHITECTURE.md, "Several ranks"). */
#include "report_ranks.h"

#include "tools/text.h"

static int64_t number(uint32_t n)
{
	return n == GST_NONE ? -1 : (int64_t)n;
}

static void clock_json(struct json *j, const struct rank_clock *c)
{
	json_map(j);
	json_key_text(j, "host", c->header->host);
	json_key(j, "reference");
	json_bool(j, c->reference);
	json_key(j, "aligned");
	json_bool(j, c->aligned);
	json_key_int(j, "at_ns", c->at_ns);
	json_key_int(j, "offset_ns", c->offset_ns);
	json_key_double(j, "drift_ppm", c->drift * 1e6);
	json_key_int(j, "matches", (int64_t)c->matches);
	json_key_int(j, "residual_p99_ns", c->residual_p99_ns);
	json_key_int(j, "violations", (int64_t)c->violations);
	json_map_end(j);
}

static void rank_json(struct json *j, const struct summary *s, const struct rank_member *m)
{
	const struct summary_device *d = &s->devices[m->device];

	json_map(j);
	json_key_int(j, "rank", number(m->rank));
	json_key_text(j, "host", m->trace->header.host);
	json_key_int(j, "pid", m->trace->header.pid);
	json_key_int(j, "device", d->number);
	json_key_int(j, "clock", m->clock);
	json_key_int(j, "operations", (int64_t)m->operations);
	json_key_int(j, "collectives", (int64_t)m->collectives);
	json_key_int(j, "timed", (int64_t)m->timed);
	json_key_int(j, "last", (int64_t)m->last);
	json_key_int(j, "cost_ns", m->cost_ns);
	json_key_int(j, "compute_ns", d->timeline->compute_ns);
	json_key_int(j, "wait_ns", d->comm_wait_ns);
	json_key_int(j, "transfer_ns", d->comm_transfer_ns);
	json_key_int(j, "unsplit_ns", d->comm_unsplit_ns);
	json_map_end(j);
}

static void straggler_json(struct json *j, const struct summary *s, const struct straggler *f)
{
	const struct rank_member *m = &s->ranks.members[f->member];
	char clean[1024];

	json_map(j);
	json_key_int(j, "rank", number(m->rank));
	json_key_text(j, "host", m->trace->header.host);
	json_key_int(j, "device", s->devices[m->device].number);
	json_key_text(j, "cause", rank_doing_name(f->doing));
	json_key_double(j, "share", m->timed ? (double)m->last / (double)m->timed : 0);
	json_key_int(j, "cost_ns", m->cost_ns);
	json_key_int(j, "waiters", (int64_t)f->waiters);
	json_key_int(j, "late_ns", f->late_ns);
	json_key_int(j, "excess_ns", f->excess_ns);
	json_key_int(j, "own_ns", f->own_ns);
	json_key_int(j, "median_ns", f->median_ns);
	json_key_int(j, "collectives", (int64_t)f->looked_at);
	json_key_int(j, "gap", f->gap ? (int64_t)(s->devices[m->device].first_gap + f->gap_number) : -1);
	json_key_text(j, "kernel", f->kernel ? text_clean(clean, sizeof(clean), f->kernel, sizeof(clean)) : "");
	if (f->kernel && f->kernel_title != f->kernel)
		json_key_text(j, "demangled", f->kernel_title);
	json_key_int(j, "kernel_ns", f->kernel_ns);
	json_key_array(j, "evidence");
	for (size_t i = 0; f->owned && i < f->owned->n_evidence; i++)
		json_text(j, f->owned->evidence[i]);
	json_array_end(j);
	json_map_end(j);
}

void report_ranks_json(struct json *j, const struct summary *s)
{
	const struct ranks *r = &s->ranks;

	json_key_map(j, "ranks");
	json_key(j, "aligned");
	json_bool(j, r->aligned);
	json_key_int(j, "collectives", (int64_t)r->whole);
	json_key_array(j, "clocks");
	for (size_t i = 0; i < r->n_clocks; i++)
		clock_json(j, &r->clocks[i]);
	json_array_end(j);
	json_key_array(j, "ranks");
	for (size_t i = 0; i < r->n_members; i++)
		if (rank_is_one(&r->members[i]))
			rank_json(j, s, &r->members[i]);
	json_array_end(j);
	json_key_array(j, "stragglers");
	for (size_t i = 0; i < r->n_stragglers; i++)
		straggler_json(j, s, &r->stragglers[i]);
	json_array_end(j);
	json_map_end(j);
}
