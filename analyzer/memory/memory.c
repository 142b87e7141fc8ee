/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory.h"

#include "tools/alloc.h"
#include "tools/spill.h"
#include "trace/one_device.h"
#include "trace/trace_rare.h"

#include <stdlib.h>
#include <string.h>

#define NEGLIGIBLE 32      /* of what is reserved, one so-manieth */
#define MAPS_KEPT 8        /* of the last stories that failed */
#define PIECES_KEPT 100000 /* of each */
#define OPEN 256         /* stories under way that what is given back is put down to: more than threads ask at a time */
#define FAR_STORIES 4096 /* how far the one that a call is of is looked for */

struct replay {
	struct memory *out;
	const struct run *run;
	struct memory_process *processes;
	size_t to_fail; /* stories of a device that are still to end so: the last ones keep their maps */
	int64_t *asked;
	size_t n_asked, near_asked;      /* rising */
	struct memory_story *open[OPEN]; /* begun and not ended */
	size_t n_open;
};

/* ---- devices ---------------------------------------------------------------------------------------------------------- */

/* As the process describes it; one that no record describes is told by its ordinal. */
static struct device described(const struct trace *t, uint16_t ordinal)
{
	for (size_t i = 0; i < t->n_devices; i++)
		if (t->devices[i].device == ordinal)
			return t->devices[i];
	return (struct device){ .device = ordinal };
}

/* An ordinal says it of one trace alone. Of our own recordings it is believed where one of the two has no UUID: its record may be lost. */
static bool same_device(const struct memory_device *d, const struct trace *t, const struct device *device)
{
	if (one_device(d->trace, &d->device, t, device))
		return true;
	if (d->device.device != device->device)
		return false;
	return d->trace->imported || t->imported ? d->trace == t
						 : !device_has_uuid(&d->device) || !device_has_uuid(device);
}

static size_t device_index(const struct memory *m, const struct trace *t, const struct device *device)
{
	for (size_t i = 0; i < m->n_devices; i++)
		if (same_device(&m->devices[i], t, device))
			return i;
	return MEMORY_NOWHERE;
}

size_t memory_device_index(const struct memory *m, const struct trace *t, uint16_t ordinal)
{
	const struct device device = described(t, ordinal);

	return device_index(m, t, &device);
}

const struct memory_device *memory_of(const struct memory *m, const struct trace *t, const struct device *device)
{
	size_t i = device_index(m, t, device);

	return i == MEMORY_NOWHERE ? NULL : &m->devices[i];
}

/* MEMORY_NOWHERE: no memory. */
static size_t device_of(struct replay *r, uint32_t process, uint16_t ordinal)
{
	struct memory *m = r->out;
	const struct trace *t = r->run->traces[process];
	struct device device = described(t, ordinal);
	size_t i = device_index(m, t, &device);

	if (i != MEMORY_NOWHERE)
		return i;
	if (!array_room(m->devices, m->n_devices, m->cap_devices))
		return MEMORY_NOWHERE;
	m->devices[m->n_devices] = (struct memory_device){ .trace = t, .device = device };
	return m->n_devices++;
}

/* NULL: no memory. */
static struct memory_device *device_held(struct replay *r, uint32_t process, size_t where)
{
	struct memory_held *h = &r->processes[process].held[where];

	if (h->device == MEMORY_NOWHERE) {
		size_t device = device_of(r, process, h->ordinal);

		if (device == MEMORY_NOWHERE)
			return NULL;
		h->number = memory_sum_join(&r->out->devices[device].sum);
		if (h->number == SIZE_MAX)
			return NULL;
		h->device = device;
	}
	return &r->out->devices[h->device];
}

/* ---- what is kept -------------------------------------------------------------------------------------------------- */

bool memory_asks(const struct call *c)
{
	switch (c->family) {
	case GST_FAMILY_ALLOC:
	case GST_FAMILY_FREE:
	case GST_FAMILY_HOST_ALLOC:
	case GST_FAMILY_HOST_FREE:
	case GST_FAMILY_POOL:
	case GST_FAMILY_VMM:
		return true;
	default:
		return false;
	}
}

/* When it is asked what memory was like, if not at every moment. False: no memory. */
static bool list_asked(struct replay *r)
{
	size_t cap = 0;

	for (size_t i = 0; r->run->brief && i < r->run->n_traces; i++) {
		const struct trace *t = r->run->traces[i];

		for (size_t k = trace_rare(t, 0); k < t->n_calls; k = trace_rare(t, k + 1)) {
			if (!memory_asks(&t->calls[k]))
				continue;
			if (!array_room(r->asked, r->n_asked, cap))
				return false;
			r->asked[r->n_asked++] = t->calls[k].begin_ns;
		}
	}
	array_sort(r->asked, r->n_asked, sizeof(*r->asked), array_by_int64);
	return true;
}

static bool asked_before(const void *element, const void *key)
{
	return *(const int64_t *)element < *(const int64_t *)key;
}

/* From then until now? */
static bool nobody_asks(struct replay *r, int64_t from_ns, int64_t now_ns)
{
	size_t at;

	if (!r->run->brief)
		return false;
	at = array_first_near(r->asked, r->n_asked, sizeof(*r->asked), asked_before, &from_ns, r->near_asked);
	r->near_asked = at;
	return at == r->n_asked || r->asked[at] >= now_ns;
}

/* ---- one change after another ------------------------------------------------------------------------------------------- */

double memory_fragmentation(const struct memory_use *use)
{
	uint64_t left = use->reserved - use->allocated;

	return left ? 1 - (double)use->largest_free / (double)left : 0;
}

/* How bad it is: where next to nothing is free, how it lies matters little. */
static double badness(const struct memory_use *use)
{
	double enough = (double)use->reserved / NEGLIGIBLE, left = (double)(use->reserved - use->allocated);

	return memory_fragmentation(use) * (left < enough ? left / enough : 1);
}

/* … than the worst yet; where nobody says how what is free lies, the less of it the worse. */
static bool worse(const struct memory_device *d, const struct memory_use *now)
{
	return badness(now) > badness(&d->worst.use) || (d->framework.told && now->allocated > d->worst.use.allocated);
}

static void judge(struct memory_device *d, int64_t time_ns)
{
	const struct memory_point now = { time_ns, d->now };

	if (now.use.allocated > d->peak_allocated) {
		d->peak_allocated = now.use.allocated;
		d->peak_allocated_ns = time_ns;
	}
	if (now.use.reserved > d->peak_reserved) {
		d->peak_reserved = now.use.reserved;
		d->peak_reserved_ns = time_ns;
		d->worst = now;
	} else if (now.use.reserved == d->peak_reserved && worse(d, &now.use)) {
		d->worst = now;
	}
}

static bool changed(struct replay *r, uint32_t process, size_t where, int64_t time_ns)
{
	struct memory_device *d = device_held(r, process, where);
	struct memory_use now;

	if (!d)
		return false;
	d->sum.as_one |= r->processes[process].held[where].told.known;
	now = memory_process_use(&r->processes[process], where);
	memory_sum_set(&d->sum, r->processes[process].held[where].number, &now);
	now = d->sum.all;
	if (memcmp(&now, &d->now, sizeof(now)) == 0)
		return true;
	d->now = now;
	judge(d, time_ns);
	if (d->n_points && (d->points[d->n_points - 1].time_ns == time_ns ||
			    nobody_asks(r, d->points[d->n_points - 1].time_ns, time_ns))) {
		d->points[d->n_points - 1] = (struct memory_point){ time_ns, now };
		return true;
	}
	if (!spill_room(d->points, d->n_points, d->cap_points))
		return false;
	d->points[d->n_points++] = (struct memory_point){ time_ns, now };
	return true;
}

/* From then on the framework's totals count. What of the first is on record was taken since the trace began. */
static bool hear_totals(struct replay *r, const struct memory_event *e, size_t where)
{
	struct memory_device *d = device_held(r, e->process, where);
	const struct memory_held *h = &r->processes[e->process].held[where];

	if (!d)
		return false;
	d->framework.told = true;
	d->framework.before += memory_told_base(&h->told, h->map.used);
	return true;
}

static bool hear(struct replay *r, const struct memory_event *e, size_t where)
{
	struct memory_device *d = device_held(r, e->process, where);

	if (!d)
		return false;
	d->framework.taken += e->what == MEMORY_TAKE;
	d->framework.given += e->what == MEMORY_GIVE;
	if (e->block->said & BLOCK_ALLOCATED)
		d->framework.allocated = e->block->allocated;
	if (e->block->said & BLOCK_RESERVED)
		d->framework.reserved = e->block->reserved;
	return true;
}

/* ---- stories ------------------------------------------------------------------------------------------------------------ */

/* What the story's process holds of its device; false: no memory. *held NULL: nobody says which device it is. */
static bool held_of(struct replay *r, struct memory_story *s, struct memory_use *use, struct memory_held **held)
{
	struct memory_process *p = &r->processes[s->process];
	size_t where;

	*use = (struct memory_use){ 0 };
	*held = NULL;
	s->device = MEMORY_NOWHERE;
	if (s->ordinal >= MEMORY_ORDINALS)
		return true;
	where = memory_process_device(p, s->ordinal);
	if (where == MEMORY_NOWHERE || !device_held(r, s->process, where))
		return false;
	*held = &p->held[where];
	*use = memory_process_use(p, where);
	s->device = (*held)->device;
	return true;
}

static bool fails(const struct memory_story *s)
{
	return s->outcome == MEMORY_FAILED && s->ordinal < MEMORY_ORDINALS;
}

static bool keep_map(struct replay *r, struct memory_story *s, const struct memory_map *m)
{
	size_t n = m->pieces < PIECES_KEPT ? m->pieces : PIECES_KEPT;
	uint64_t at = 0;

	s->pieces_left_out = m->pieces;
	if (r->to_fail-- > MAPS_KEPT)
		return true;
	s->pieces = array_new(n, sizeof(*s->pieces));
	if (!s->pieces)
		return false;
	while (s->n_pieces < n && memory_map_next(m, at, &s->pieces[s->n_pieces])) {
		at = s->pieces[s->n_pieces].address + s->pieces[s->n_pieces].bytes;
		s->n_pieces++;
	}
	s->pieces_left_out = m->pieces - s->n_pieces;
	return true;
}

static bool end_story(struct replay *r, struct memory_story *s)
{
	struct memory_held *held;
	struct memory_device *d;

	for (size_t i = 0; i < r->n_open; i++)
		if (r->open[i] == s)
			r->open[i--] = r->open[--r->n_open];
	if (!held_of(r, s, &s->at, &held))
		return false;
	if (!held)
		return true;
	d = &r->out->devices[s->device];
	d->out_of_memory += s->outcome == MEMORY_FAILED;
	d->retries += s->outcome == MEMORY_RETRIED;
	d->framework.refused += s->block && s->outcome == MEMORY_FAILED;
	return !fails(s) || keep_map(r, s, &held->map);
}

static bool begin_story(struct replay *r, struct memory_story *s)
{
	struct memory_held *held;

	if (r->n_open < OPEN)
		r->open[r->n_open++] = s;
	return held_of(r, s, &s->before, &held);
}

/* Memory went back to the driver: to the credit of the thread's stories that are under way. */
static void credit(struct replay *r, const struct memory_event *e, uint64_t given)
{
	for (size_t i = 0; given && i < r->n_open; i++)
		if (r->open[i]->process == e->process && r->open[i]->tid == e->call->tid) {
			r->open[i]->given_back += given;
			r->open[i]->ranges_given_back++;
		}
}

static bool add_stories(struct memory_events *events, struct memory_stories *stories)
{
	for (size_t i = 0; i < stories->n; i++) {
		struct memory_story *s = &stories->at[i];
		struct memory_event begins = { .time_ns = s->begin_ns, .process = s->process, .what = MEMORY_BEGINS };
		struct memory_event ends = { .time_ns = s->end_ns, .process = s->process, .what = MEMORY_ENDS };

		begins.story = ends.story = s;
		if (!memory_event_add(events, &begins) || !memory_event_add(events, &ends))
			return false;
	}
	return true;
}

/* ---- the whole ---------------------------------------------------------------------------------------------------------- */

static bool apply(struct replay *r, const struct memory_event *e)
{
	struct memory_process *p = &r->processes[e->process];
	size_t where = MEMORY_NOWHERE;
	uint64_t given;

	if (e->what == MEMORY_BEGINS)
		return begin_story(r, e->story);
	if (e->what == MEMORY_ENDS)
		return end_story(r, e->story);
	if (!memory_process_apply(p, e, &where, &given))
		return false;
	if (e->what == MEMORY_TOLD && where != MEMORY_NOWHERE && !hear_totals(r, e, where))
		return false;
	if (where != MEMORY_NOWHERE && !changed(r, e->process, where, e->time_ns))
		return false;
	if (e->what == MEMORY_DROP || e->what == MEMORY_UNMAP)
		credit(r, e, given);
	return (e->what != MEMORY_TAKE && e->what != MEMORY_GIVE) || where == MEMORY_NOWHERE || hear(r, e, where);
}

static bool gather(struct replay *r)
{
	struct memory *m = r->out;

	for (uint32_t i = 0; i < r->run->n_traces; i++) {
		const struct memory_process *p = &r->processes[i];

		for (size_t k = 0; k < p->n_held; k++) {
			struct memory_device *d = device_held(r, i, k);

			if (!d)
				return false;
			d->framework.strays += p->held[k].strays;
			d->framework.before_left += memory_told_base(&p->held[k].told, p->held[k].map.used);
		}
		for (size_t k = 0; k < p->n_pools; k++) {
			if (!array_room(m->pools, m->n_pools, m->cap_pools))
				return false;
			m->pools[m->n_pools++] =
				(struct memory_pooled){ i, p->pools[k].pool, p->held[p->pools[k].device].device,
							p->pools[k].last };
		}
	}
	return true;
}

enum err_kind memory_build(struct memory *out, const struct run *run, struct error *e)
{
	struct replay r = { .out = out, .run = run };
	struct memory_events events = { 0 };
	struct memory_walk walk = { .of = &events };
	struct memory_event event;
	bool ok;

	*out = (struct memory){ 0 };
	r.processes = array_new(run->n_traces, sizeof(*r.processes));
	ok = r.processes && list_asked(&r) && memory_stories_build(&out->stories, run) &&
	     memory_events_add(&events, run) && add_stories(&events, &out->stories);
	if (ok)
		memory_events_sort(&events);
	for (size_t i = 0; ok && i < out->stories.n; i++)
		r.to_fail += fails(&out->stories.at[i]);
	while (ok && memory_walk_next(&walk, &event))
		ok = apply(&r, &event);
	ok = ok && gather(&r);
	for (size_t i = 0; r.processes && i < run->n_traces; i++)
		memory_process_free(&r.processes[i]);
	free(r.processes);
	free(r.asked);
	memory_events_free(&events);
	if (ok)
		return ERR_NONE;
	memory_free(out);
	return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
}

void memory_free(struct memory *m)
{
	for (size_t i = 0; i < m->n_devices; i++) {
		spill_free(m->devices[i].points);
		memory_sum_free(&m->devices[i].sum);
	}
	free(m->devices);
	free(m->pools);
	memory_stories_free(&m->stories);
	*m = (struct memory){ 0 };
}

static bool not_after(const void *element, const void *key)
{
	return ((const struct memory_point *)element)->time_ns <= *(const int64_t *)key;
}

struct memory_use memory_at(const struct memory_device *d, int64_t time_ns)
{
	size_t at = array_first(d->points, d->n_points, sizeof(*d->points), not_after, &time_ns);

	return at ? d->points[at - 1].use : (struct memory_use){ 0 };
}

static bool ended_before(const void *element, const void *key)
{
	return ((const struct memory_story *)element)->end_ns < *(const int64_t *)key;
}

/* By their ends: of one thread the first that ends later is the one that is under way, if any is. */
const struct memory_story *memory_story_of(const struct memory *m, const struct trace *t, const struct call *c)
{
	const struct memory_stories *s = &m->stories;

	size_t first = array_first(s->at, s->n, sizeof(*s->at), ended_before, &c->end_ns);

	for (size_t i = first; i < s->n && i - first < FAR_STORIES; i++)
		if (s->at[i].trace == t && s->at[i].tid == c->tid)
			return s->at[i].begin_ns <= c->begin_ns ? &s->at[i] : NULL;
	return NULL;
}
