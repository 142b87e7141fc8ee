/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory_worst.h"

#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"
#include "tools/ns.h"

struct replay {
	const struct memory *m;
	const struct run *run;
	struct memory_process *processes;
	struct memory_sum *sums; /* of each device */
	struct memory_worst *out;
	size_t left;     /* devices whose moment is still to come */
	int64_t next_ns; /* behind it there may be an out-of-memory to be looked at */
};

/* ---- one moment ----------------------------------------------------------------------------------------------------------- */

static bool add_part(struct memory_worst *w, uint32_t process, const struct memory_map *m)
{
	struct memory_part *part;
	uint64_t at = 0;

	if (!m->pieces)
		return true;
	if (!array_room(w->parts, w->n, w->cap))
		return false;
	part = &w->parts[w->n++];
	*part = (struct memory_part){ .process = process };
	do {
		if (!array_room(part->pieces, part->n, part->cap))
			return false;
		if (!memory_map_next(m, at, &part->pieces[part->n]))
			break;
		at = part->pieces[part->n].address + part->pieces[part->n].bytes;
	} while (++part->n < m->pieces);
	return true;
}

static bool take(struct replay *r, size_t device, int64_t time_ns)
{
	struct memory_worst *w = &r->out[device];
	uint64_t placed = 0;

	w->found = true;
	w->time_ns = time_ns;
	w->use = r->sums[device].all;
	r->left--;
	for (uint32_t i = 0; i < r->run->n_traces; i++)
		for (size_t k = 0; k < r->processes[i].n_held; k++) {
			const struct memory_held *h = &r->processes[i].held[k];

			if (h->device != device)
				continue;
			if (!add_part(w, i, &h->map))
				return false;
			placed += h->map.held;
		}
	w->unplaced = w->use.reserved > placed ? w->use.reserved - placed : 0;
	return true;
}

/* ---- one event after another ---------------------------------------------------------------------------------------------- */

/* The devices that were out of memory before this event; each as its story's end left it. */
static bool stories_before(struct replay *r, int64_t time_ns)
{
	if (time_ns <= r->next_ns)
		return true;
	r->next_ns = INT64_MAX;
	for (size_t i = 0; i < r->m->n_devices; i++) {
		const struct memory_story *s = r->out[i].story;

		if (!s || r->out[i].found)
			continue;
		if (s->end_ns >= time_ns)
			r->next_ns = min64(r->next_ns, s->end_ns);
		else if (!take(r, i, s->end_ns))
			return false;
	}
	return true;
}

/* What a device's use is now is the sum; false: no memory. */
static bool changed(struct replay *r, const struct memory_event *e, size_t where)
{
	struct memory_held *h = &r->processes[e->process].held[where];
	struct memory_use now;

	if (h->device == MEMORY_NOWHERE) {
		h->device = memory_device_index(r->m, r->run->traces[e->process], h->ordinal);
		if (h->device == MEMORY_NOWHERE)
			return true;
		h->number = memory_sum_join(&r->sums[h->device]);
		if (h->number == SIZE_MAX)
			return false;
	}
	r->sums[h->device].as_one |= h->told.known;
	now = memory_process_use(&r->processes[e->process], where);
	memory_sum_set(&r->sums[h->device], h->number, &now);
	return true;
}

static bool is_worst(const struct replay *r, size_t device, int64_t time_ns)
{
	const struct memory_point *worst = &r->m->devices[device].worst;

	return !r->out[device].story && !r->out[device].found && worst->time_ns == time_ns && worst->use.reserved &&
	       memcmp(&worst->use, &r->sums[device].all, sizeof(worst->use)) == 0;
}

static bool apply(struct replay *r, const struct memory_event *e)
{
	struct memory_process *p = &r->processes[e->process];
	size_t where = MEMORY_NOWHERE, device;
	uint64_t given;

	if (!stories_before(r, e->time_ns) || !memory_process_apply(p, e, &where, &given))
		return false;
	if (where == MEMORY_NOWHERE)
		return true;
	if (!changed(r, e, where))
		return false;
	device = p->held[where].device;
	return device == MEMORY_NOWHERE || !is_worst(r, device, e->time_ns) || take(r, device, e->time_ns);
}

static bool go_through(struct replay *r)
{
	struct memory_events events = { 0 };
	struct memory_walk walk = { .of = &events };
	struct memory_event event;
	bool ok = memory_events_add(&events, r->run);

	if (ok)
		memory_events_sort(&events);
	while (ok && r->left && memory_walk_next(&walk, &event))
		ok = apply(r, &event);
	for (size_t i = 0; ok && i < r->m->n_devices; i++)
		if (r->out[i].story && !r->out[i].found)
			ok = take(r, i, r->out[i].story->end_ns);
	memory_events_free(&events);
	return ok;
}

enum err_kind memory_worst_build(struct memory_worst **out, const struct memory *m, const struct run *run,
				 struct error *e)
{
	struct replay r = { .m = m, .run = run, .next_ns = INT64_MIN };
	bool ok;

	*out = r.out = array_new(m->n_devices, sizeof(*r.out));
	r.processes = array_new(run->n_traces, sizeof(*r.processes));
	r.sums = array_new(m->n_devices, sizeof(*r.sums));
	ok = r.out && r.processes && r.sums;
	for (size_t i = 0; ok && i < m->stories.n; i++) /* by their ends: the last one stays */
		if (m->stories.at[i].outcome == MEMORY_FAILED && m->stories.at[i].device < m->n_devices)
			r.out[m->stories.at[i].device].story = &m->stories.at[i];
	for (size_t i = 0; ok && i < m->n_devices; i++)
		r.left += r.out[i].story || m->devices[i].worst.use.reserved;
	ok = ok && (!r.left || go_through(&r));
	for (size_t i = 0; r.processes && i < run->n_traces; i++)
		memory_process_free(&r.processes[i]);
	for (size_t i = 0; r.sums && i < m->n_devices; i++)
		memory_sum_free(&r.sums[i]);
	free(r.processes);
	free(r.sums);
	if (ok)
		return ERR_NONE;
	memory_worst_free(r.out, m->n_devices);
	*out = NULL;
	return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
}

void memory_worst_free(struct memory_worst *worst, size_t n)
{
	for (size_t i = 0; worst && i < n; i++) {
		for (size_t k = 0; k < worst[i].n; k++)
			free(worst[i].parts[k].pieces);
		free(worst[i].parts);
	}
	free(worst);
}
