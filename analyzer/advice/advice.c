/* SPDX-License-Identifier: BSD-2-Clause */
#include "advice.h"

#include <stdlib.h>
#include <string.h>

#include "advice_parts.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/pool.h"

#define LEAST 100 /* a loss is worth advice from so-manieth of the time on */

static const struct {
	const char *id, *why;
	enum recover_id about;
	advice_find *find;
} rows[ADVICE_OTHER] = {
#define ADVICE(name, id, about, find, why) { id, why, RECOVER_##about, find },
#define DO(name, framework, what)
#include "advice.def"
#undef ADVICE
#undef DO
};

static const struct {
	enum advice_id id;
	enum framework framework;
	const char *what;
} to_do[] = {
#define ADVICE(name, id, about, find, why)
#define DO(name, framework, what) { ADVICE_##name, framework, what },
#include "advice.def"
#undef ADVICE
#undef DO
};

const char *advice_name(const struct advice *a)
{
	return a->id == ADVICE_OTHER ? recover_name(a->about) : rows[a->id].id;
}

static const char *what_to_do(enum advice_id id, enum framework framework)
{
	const char *plain = "";

	for (size_t i = 0; i < sizeof(to_do) / sizeof(*to_do); i++) {
		if (to_do[i].id == id && to_do[i].framework == framework)
			return to_do[i].what;
		if (to_do[i].id == id && to_do[i].framework == FRAMEWORK_NONE)
			plain = to_do[i].what;
	}
	return plain;
}

/* ---- one piece of advice ------------------------------------------------------------------------------------------------ */

static void of_loss(struct advice *out, const struct advisor *a, enum recover_id about)
{
	const struct recoverable *x = &a->recovery->of[about];

	out->about = about;
	out->device = a->index;
	out->lost_ns = x->lost_ns;
	out->likely_ns = x->likely_ns;
	out->observed_ns = x->observed_ns;
	out->recoverable_ns = x->recoverable_ns;
	out->next = x->next;
	out->next_ns = x->next_ns;
	out->covers = (uint64_t)1 << about;
}

bool advice_matters(const struct advisor *a, const struct advice *out)
{
	int64_t span = recovery_span(a->recovery);

	return span > 0 && out->recoverable_ns > 0 && out->recoverable_ns >= span / LEAST;
}

static bool add(struct advices *list, struct advisor *a, struct advice *out, const char *why, const char *what)
{
	figure_ns(out, "lost_ns", out->lost_ns);
	if (out->likely_ns)
		figure_ns(out, "likely_ns", out->likely_ns);
	if (out->likely_ns && !out->lost_ns)
		figure_ns(out, "estimated_ns", out->likely_ns); /* all of it */
	out->ceiling = recover_ceiling(recovery_span(a->recovery), out->recoverable_ns);
	out->why = advice_say(a, out, why);
	out->what = advice_say(a, out, what);
	if (!out->why || !out->what || a->failed || !array_room(list->at, list->n, list->cap))
		return false;
	list->at[list->n++] = *out;
	return true;
}

/* ---- all of a device ---------------------------------------------------------------------------------------------------- */

struct row { /* of a device; its texts lie in an arena of its own */
	struct advisor advisor;
	struct advice advice;
	bool found;
};

static enum err_kind find_row(void *of, size_t i, struct error *e)
{
	struct row *row = (struct row *)of + i;

	row->advice.id = (enum advice_id)i;
	of_loss(&row->advice, &row->advisor, rows[i].about);
	row->found = rows[i].find(&row->advisor, &row->advice) && advice_matters(&row->advisor, &row->advice);
	return row->advisor.failed ? err_no_memory(e, "") : ERR_NONE;
}

/* They know nothing of each other, and some look at all calls. */
static bool find_rows(struct row *found, struct advices *list, const struct advisor *a)
{
	for (int i = 0; i < ADVICE_OTHER; i++) {
		found[i].advisor = *a;
		found[i].advisor.arena = &list->arenas[i];
	}
	return !pool_run(ADVICE_OTHER, find_row, found, NULL);
}

static bool add_rows(struct advices *list, struct advisor *a, uint64_t *covered)
{
	struct row *found = array_new(ADVICE_OTHER, sizeof(*found));
	bool ok = found && find_rows(found, list, a);

	for (int i = 0; ok && i < ADVICE_OTHER; i++) {
		struct advice *out = &found[i].advice;

		if (!found[i].found)
			continue;
		*covered |= out->covers;
		ok = add(list, a, out, rows[i].why, what_to_do(out->id, a->framework));
	}
	free(found);
	return ok;
}

/* Causes that no row had anything to say about: in general words. */
static bool add_others(struct advices *list, struct advisor *a, uint64_t covered)
{
	for (int i = 0; i < CAUSE_COUNT; i++) {
		struct advice out = { .id = ADVICE_OTHER };

		of_loss(&out, a, recover_of_cause((enum cause_id)i));
		if (covered & out.covers || !advice_matters(a, &out))
			continue;
		seen_cause(a, &out, (enum cause_id)i);
		if (!add(list, a, &out, cause_title((enum cause_id)i), cause_advice((enum cause_id)i)))
			return false;
	}
	return true;
}

_Static_assert(RECOVER_COUNT <= 64, "covers");

static int by_ceiling(const void *a, const void *b)
{
	const struct advice *x = a, *y = b;

	if (x->ceiling < y->ceiling || x->ceiling > y->ceiling)
		return x->ceiling > y->ceiling ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->about < y->about ? -1 : x->about > y->about;
}

static enum err_kind build(struct advices *out, const struct summary *s, struct error *e)
{
	for (size_t i = 0; i < s->n_devices; i++) {
		struct advisor a = { .summary = s,
				     .device = &s->devices[i],
				     .index = i,
				     .recovery = &out->devices[i],
				     .framework = out->framework,
				     .arena = &out->arenas[ADVICE_OTHER] };
		uint64_t covered = 0;
		enum err_kind kind;

		out->n_devices++;
		kind = recovery_build(&out->devices[i], s, &s->devices[i], e);
		if (kind)
			return kind;
		if (!add_rows(out, &a, &covered) || !add_others(out, &a, covered))
			return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	}
	array_sort(out->at, out->n, sizeof(*out->at), by_ceiling);
	return ERR_NONE;
}

enum err_kind advices_build(struct advices *out, const struct summary *s, struct error *e)
{
	enum err_kind kind;

	*out = (struct advices){ .framework = framework_of(s->run) };
	out->devices = array_new(s->n_devices, sizeof(*out->devices));
	out->at = array_grow(NULL, &out->cap, sizeof(*out->at));
	kind = out->devices && out->at ? build(out, s, e) : err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	if (kind)
		advices_free(out);
	return kind;
}

void advices_free(struct advices *a)
{
	for (size_t i = 0; i < a->n_devices; i++)
		recovery_free(&a->devices[i]);
	free(a->devices);
	free(a->at);
	for (int i = 0; i < ADVICE_COUNT; i++)
		arena_free(&a->arenas[i]);
	*a = (struct advices){ 0 };
}
