/* SPDX-License-Identifier: BSD-2-Clause */
/* export_sqlite_device.c: devices and their idle time by cause, by step and by phase; their memory; ranks. */
#include "export_sqlite_parts.h"
#include "report/report_memory.h"

/* ---- devices --------------------------------------------------------------------------------------------------------------- */

static void likely(struct rows *r, const struct estimate *e, const struct likely *l)
{
	row_int_or_null(r, e->made, l->ns);
	row_int_or_null(r, e->made, l->low_ns);
	row_int_or_null(r, e->made, l->high_ns);
}

static void device(struct rows *r, const struct summary_device *d)
{
	const struct device_timeline *t = d->timeline;
	const int64_t times[] = {
		t->begin_ns,        t->end_ns,        d->before_ns,        d->span_ns,         t->compute_ns,
		t->comm_ns,         d->comm_wait_ns,  d->comm_transfer_ns, d->comm_unsplit_ns, d->copy_exposed_ns,
		d->h2d_pageable_ns, d->h2d_pinned_ns, d->d2h_ns,           d->d2d_ns,          d->peer_ns,
		d->memset_ns,       t->idle_ns,       t->idle_error_ns,    t->unresolved_ns,   d->startup_ns,
		d->shutdown_ns,
	};

	row_begin(r, TABLE_devices);
	row_int(r, d->number);
	row_text(r, d->uuid);
	row_text(r, d->name);
	row_int_or_null(r, d->rank != GST_NONE, d->rank);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		row_int(r, times[i]);
	row_bytes(r, t->operations);
	row_int(r, t->n_streams);
	likely(r, &t->estimate, &t->estimate.unresolved);
	likely(r, &t->estimate, &t->estimate.whole);
	row_end(r);
}

static void device_causes(struct rows *r, const struct summary_device *d)
{
	for (int c = 0; c < CAUSE_COUNT; c++) {
		row_begin(r, TABLE_device_causes);
		row_int(r, d->number);
		row_text(r, cause_name(c));
		row_int(r, d->attribution.causes_ns[c]);
		row_int(r, d->attribution.observed_ns[c]);
		row_int_or_null(r, d->timeline->estimate.made, d->unresolved_causes[c]);
		row_end(r);
	}
	for (size_t i = 0; i < d->timeline->n_unresolved; i++) {
		row_begin(r, TABLE_unresolved);
		row_int(r, d->number);
		row_int(r, d->timeline->unresolved[i].begin_ns);
		row_int(r, d->timeline->unresolved[i].end_ns);
		row_end(r);
	}
}

static void causes(struct rows *r)
{
	for (int c = 0; c < CAUSE_COUNT; c++) {
		row_begin(r, TABLE_causes);
		row_text(r, cause_name(c));
		row_text(r, cause_title(c));
		row_text(r, cause_advice(c));
		row_end(r);
	}
}

/* ---- steps and phases ------------------------------------------------------------------------------------------------------ */

/* Rows of (first, second, cause, ns); second < 0: there is none. Without those of 0. */
static void by_cause(struct rows *r, enum table_id table, int64_t first, int64_t second,
		     const int64_t causes_ns[CAUSE_COUNT])
{
	for (int c = 0; c < CAUSE_COUNT; c++) {
		if (!causes_ns[c])
			continue;
		row_begin(r, table);
		row_int(r, first);
		if (second >= 0)
			row_int(r, second);
		row_text(r, cause_name(c));
		row_int(r, causes_ns[c]);
		row_end(r);
	}
}

static void steps(struct rows *r, const struct summary_device *d)
{
	const struct steps_usual *u = &d->phases.usual;
	size_t next = 0; /* outlier */
	char name[160];

	for (size_t i = 0; i < d->phases.n_steps; i++) {
		const struct step_idle *s = &d->phases.steps[i];
		const struct outlier *o =
			next < u->n_outliers && u->outliers[next].index == i ? &u->outliers[next++] : NULL;

		row_begin(r, TABLE_steps);
		row_int(r, d->number);
		row_int(r, (int64_t)i);
		row_text(r, step_name(name, sizeof(name), s->step));
		row_text(r, s->step->kind == STEP ? "step" : "between");
		row_text(r, s->step->range ? "ranges" : "launches");
		row_int(r, s->step->begin_ns);
		row_int(r, s->step->end_ns);
		row_int(r, s->idle_ns);
		row_int_or_null(r, o, o ? o->excess_ns : 0);
		row_int_or_null(r, o, o ? o->busy_ns : 0);
		row_end(r);
		by_cause(r, TABLE_step_causes, d->number, (int64_t)i, s->causes_ns);
	}
}

static int64_t phases(struct rows *r, const struct summary *s, const struct summary_device *d, int64_t number)
{
	char path[1024];

	for (size_t i = 0; i < d->phases.n_phases; i++, number++) {
		const struct phase *p = &d->phases.phases[i];

		row_begin(r, TABLE_phases);
		row_int(r, number);
		row_int(r, d->number);
		row_text(r, range_path(path, sizeof(path), &s->ranges, p->node));
		row_int(r, s->ranges.nodes[p->node].in_step);
		row_int(r, p->idle_ns);
		row_end(r);
		by_cause(r, TABLE_phase_causes, number, -1, p->causes_ns);
	}
	return number;
}

/* ---- memory ---------------------------------------------------------------------------------------------------------------- */

static void memory(struct rows *r, uint32_t number, const struct memory_device *d)
{
	bool scattered = !d->framework.told; /* how what is free lies is known */

	row_begin(r, TABLE_memory);
	row_int(r, number);
	row_bytes(r, d->peak_allocated);
	row_bytes(r, d->peak_reserved);
	if (scattered)
		row_real(r, memory_fragmentation(&d->worst.use));
	else
		row_null(r);
	row_bytes(r, d->out_of_memory);
	row_bytes(r, d->retries);
	row_int(r, d->peak_allocated_ns);
	row_int(r, d->peak_reserved_ns);
	row_end(r);
	for (size_t i = 0; i < d->n_points; i++) {
		row_begin(r, TABLE_memory_points);
		row_int(r, number);
		row_int(r, d->points[i].time_ns);
		row_bytes(r, d->points[i].use.allocated);
		row_bytes(r, d->points[i].use.reserved);
		row_bytes_or_null(r, scattered, d->points[i].use.largest_free);
		row_end(r);
	}
}

static bool is_listed(const struct summary *s, const struct memory_device *d, uint32_t *number)
{
	for (size_t i = 0; i < s->n_devices; i++)
		if (s->devices[i].memory == d) {
			*number = s->devices[i].number;
			return true;
		}
	*number = report_memory_number(s, d);
	return false;
}

static void story(struct tables *t, const struct memory_story *m)
{
	struct rows *r = &t->rows;
	const struct frame *from = memory_asked_from(m);
	bool known = m->device < t->s->memory.n_devices;
	char words[FRAME_WORDS] = "";
	uint32_t number = 0;

	if (known)
		is_listed(t->s, &t->s->memory.devices[m->device], &number);
	if (from)
		frame_words(words, sizeof(words), from);
	row_begin(r, TABLE_memory_stories);
	row_int_or_null(r, known, number);
	row_text(r, m->outcome == MEMORY_FAILED ? "out-of-memory" : "retried");
	row_int(r, (int64_t)tables_process(t, m->trace));
	row_int(r, m->tid);
	row_int(r, m->begin_ns);
	row_int(r, m->end_ns);
	row_bytes(r, m->asked);
	row_bytes(r, m->at.allocated);
	row_bytes(r, m->at.reserved);
	row_bytes_or_null(r, !known || !t->s->memory.devices[m->device].framework.told, m->at.largest_free);
	row_text(r, words);
	row_end(r);
}

/* As report --json lists them. */
static void memories(struct tables *t)
{
	static const struct memory_device nothing;
	const struct summary *s = t->s;
	uint32_t number;

	for (size_t i = 0; i < s->n_devices; i++)
		memory(&t->rows, s->devices[i].number, s->devices[i].memory ? s->devices[i].memory : &nothing);
	for (size_t i = 0; i < s->memory.n_devices; i++)
		if (!is_listed(s, &s->memory.devices[i], &number))
			memory(&t->rows, number, &s->memory.devices[i]);
	for (size_t i = 0; i < s->memory.stories.n; i++)
		story(t, &s->memory.stories.at[i]);
}

/* ---- ranks ----------------------------------------------------------------------------------------------------------------- */

static void ranks(struct tables *t)
{
	struct rows *r = &t->rows;
	const struct ranks *all = &t->s->ranks;

	for (size_t i = 0; i < all->n_members; i++) {
		const struct rank_member *m = &all->members[i];

		if (!rank_is_one(m))
			continue;
		row_begin(r, TABLE_ranks);
		row_int(r, (int64_t)tables_process(t, m->trace));
		row_int(r, t->s->devices[m->device].number);
		row_int_or_null(r, m->rank != GST_NONE, m->rank);
		row_bytes(r, m->operations);
		row_bytes(r, m->collectives);
		row_bytes(r, m->timed);
		row_bytes(r, m->last);
		row_int(r, m->cost_ns);
		row_end(r);
	}
	for (size_t i = 0; i < all->n_stragglers; i++) {
		const struct straggler *f = &all->stragglers[i];
		const struct rank_member *m = &all->members[f->member];

		row_begin(r, TABLE_stragglers);
		row_int(r, (int64_t)i);
		row_int(r, t->s->devices[m->device].number);
		row_int_or_null(r, m->rank != GST_NONE, m->rank);
		row_text(r, rank_doing_name(f->doing));
		row_int(r, m->cost_ns);
		row_int(r, f->late_ns);
		row_int(r, f->excess_ns);
		row_end(r);
	}
}

void tables_devices(struct tables *t)
{
	int64_t phase = 0;

	causes(&t->rows);
	for (size_t i = 0; i < t->s->n_devices; i++) {
		device(&t->rows, &t->s->devices[i]);
		device_causes(&t->rows, &t->s->devices[i]);
		steps(&t->rows, &t->s->devices[i]);
		phase = phases(&t->rows, t->s, &t->s->devices[i], phase);
	}
	memories(t);
	ranks(t);
}
