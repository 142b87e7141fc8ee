/* SPDX-License-Identifier: BSD-2-Clause */
#include "recover_parts.h"

#include <stdlib.h>
#include <string.h>

#include "timeline/facts.h"
#include "tools/ns.h"
#include "tools/pool.h"

static const char *const names[RECOVER_COUNT] = {
#define CAUSE(name, id, title, advice) id,
#define CAUSE_RULE CAUSE
#include "cause/causes.def"
#define LIMIT(cause, rule)
#define EXPOSED(name, id, rule) id,
#include "recover.def"
#undef LIMIT
#undef EXPOSED
};

static const enum recover_rule rules[RECOVER_COUNT] = {
#define LIMIT(cause, rule) [RECOVER_##cause] = (rule),
#define EXPOSED(name, id, rule) [RECOVER_##name] = (rule),
#include "recover.def"
#undef LIMIT
#undef EXPOSED
};

const char *recover_name(enum recover_id id)
{
	return names[id];
}

double recover_ceiling(int64_t span_ns, int64_t recoverable_ns)
{
	int64_t left = max64(1, span_ns - recoverable_ns);

	return span_ns > 0 ? (double)span_ns / (double)left - 1 : 0;
}

/* ---- what can be won ---------------------------------------------------------------------------------------------------- */

/* The work that has to be done whatever is changed. */
static int64_t work_of(const struct recovery *r, enum recover_id id)
{
	/* of those who do it beside the run already there may be more */
	return r->of[id].lost_ns - (recover_is_cause(id) ? r->elsewhere_ns[id] : 0);
}

static int64_t can_be_won(const struct recovery *r, enum recover_id id)
{
	const struct recoverable *x = &r->of[id];
	int64_t all = x->lost_ns + x->likely_ns, left = all;

	switch (rules[id]) {
	case RECOVER_BESIDE:
		left = recovery_span(r) - work_of(r, id);
		break;
	case RECOVER_AHEAD:
		left = r->blocked_ns;
		break;
	case RECOVER_OVERLAP:
		left = r->parts.compute_ns - r->likely_idle_ns;
		if (id != RECOVER_comm_transfer && id != RECOVER_comm_unsplit)
			left = min64(left, r->slowest_ns[id]);
		break;
	case RECOVER_NODES:
		left = x->lost_ns - min64(x->lost_ns, (int64_t)r->gaps[id] * NODE_NS);
		left += x->likely_ns - r->likely_nodes_ns[id];
		break;
	case RECOVER_NOTHING:
		return 0;
	case RECOVER_WHOLE:
		break;
	}
	return clamp64(left, 0, all);
}

static void consider(struct recover_next *next, const char *name, int64_t ns)
{
	if (ns > next->ns)
		*next = (struct recover_next){ name, ns };
}

struct recover_next recover_next(const struct recovery *r, uint64_t gone, const char *rest, int64_t rest_ns)
{
	struct recover_next next = { "compute", r->parts.compute_ns - r->likely_idle_ns };

	for (int i = 0; i < RECOVER_COUNT; i++)
		if (!(gone & (uint64_t)1 << i))
			consider(&next, names[i], r->of[i].lost_ns + r->of[i].likely_ns);
	if (rest_ns > 0)
		consider(&next, rest, rest_ns);
	return next;
}

/* The longest part of the run that is left, or the floor that kept the rest from being won. */
static void set_next(struct recovery *r, enum recover_id id)
{
	struct recoverable *x = &r->of[id];
	int64_t rest = x->lost_ns + x->likely_ns - x->recoverable_ns;
	const char *name = names[id];
	struct recover_next next;

	if (rest > 0 && rules[id] == RECOVER_AHEAD) {
		name = "host";
		rest = recovery_span(r) - r->blocked_ns;
	} else if (rest > 0 && rules[id] == RECOVER_BESIDE) {
		rest = work_of(r, id);
	}
	next = recover_next(r, (uint64_t)1 << id, name, rest);
	x->next = next.name;
	x->next_ns = next.ns;
}

static void rank(struct recovery *r, enum recover_id id)
{
	size_t at = r->n++;

	for (; at > 0 && r->of[r->order[at - 1]].recoverable_ns < r->of[id].recoverable_ns; at--)
		r->order[at] = r->order[at - 1];
	r->order[at] = id;
}

struct looking {
	struct recovery *r;
	const struct summary *s;
	const struct summary_device *d;
};

/* At the device's time, and at the thread that feeds it. */
static enum err_kind look_at_one(void *looking, size_t which, struct error *e)
{
	const struct looking *l = looking;

	if (which == 0)
		return recover_add_losses(l->r, l->s, l->d) ? ERR_NONE : err_no_memory(e, "");
	recover_set_feeder(l->r, l->s, l->d);
	return ERR_NONE;
}

enum err_kind recovery_build(struct recovery *r, const struct summary *s, const struct summary_device *d,
			     struct error *e)
{
	struct looking l = { r, s, d };
	enum err_kind kind;

	memset(r, 0, sizeof(*r));
	if (!recover_set_window(r, d))
		return err_no_memory(e, "");
	kind = pool_run(2, look_at_one, &l, e);
	if (kind)
		return kind;
	for (int i = 0; i < RECOVER_COUNT; i++) {
		struct recoverable *x = &r->of[i];

		x->id = (enum recover_id)i;
		x->next = "compute";
		if (!x->lost_ns && !x->likely_ns)
			continue;
		x->recoverable_ns = can_be_won(r, x->id);
		x->ceiling = recover_ceiling(recovery_span(r), x->recoverable_ns);
		set_next(r, x->id);
		rank(r, x->id);
	}
	return ERR_NONE;
}

void recovery_free(struct recovery *r)
{
	free(r->between);
	r->between = NULL;
	r->n_between = 0;
}
