/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_run_gaps.c: a device's gaps, those alike together: behind the same work and before the same work, within a step or between two. How often
 * such work comes in a step says nothing here: what is added in front of it does not make another gap of it. */
#include "diff_run.h"

#include <stdlib.h>
#include <string.h>

#include "diff_keep.h"
#include "report/report_owners.h"
#include "tools/alloc.h"
#include "tools/fnv.h"
#include "tools/hash_index.h"
#include "tools/ns.h"

#define NAMES_KEPT 1024 /* whose hash is not made again */
#define PIECES_TOLD 3   /* of the longest gap of each group */
#define STORY_COLUMNS 116

struct group {
	uint64_t key, n;
	const char *before, *after; /* the run's */
	int64_t causes[CAUSE_COUNT];
	int64_t all_ns, longest_ns;
	size_t longest; /* index of the gap */
};

struct grouping {
	const struct summary_device *of;
	struct diff_window window;
	struct group *at;
	size_t n, cap;
	struct hash_index index;
	struct {
		const char *name;
		uint64_t hash;
	} names[NAMES_KEPT];
};

/* ---- which are alike ---- */

static const char *name_of(const struct op *op)
{
	return op ? op_label(op) : "";
}

static uint64_t hash_of(struct grouping *g, const char *name)
{
	size_t at = ((uintptr_t)name ^ (uintptr_t)name >> 10) % NAMES_KEPT;

	if (g->names[at].name != name) {
		g->names[at].name = name;
		g->names[at].hash = fnv1a(FNV_BEGIN, name, strlen(name) + 1);
	}
	return g->names[at].hash;
}

static const struct step *step_of(const struct grouping *g, const struct op *op)
{
	return op ? steps_at(g->of->phases.of, op->of->unlinked ? op->begin_ns : op->call->begin_ns) : NULL;
}

static uint64_t key_of(struct grouping *g, const struct gap *gap)
{
	uint64_t names[] = { hash_of(g, name_of(gap->before)), hash_of(g, name_of(gap->after)) };
	bool between = step_of(g, gap->before) != step_of(g, gap->after);

	return (fnv1a(FNV_BEGIN, names, sizeof(names)) & ~DIFF_GAP_BETWEEN) | (between ? DIFF_GAP_BETWEEN : 0);
}

/* NULL: no memory. */
static struct group *group_of(struct grouping *g, const struct gap *gap)
{
	uint64_t key = key_of(g, gap);
	uint32_t number;

	for (size_t at = 0; (number = hash_next(&g->index, key, &at)) != HASH_NONE;)
		if (g->at[number].key == key)
			return &g->at[number];
	if (!array_room(g->at, g->n, g->cap) || !hash_add(&g->index, key, (uint32_t)g->n))
		return NULL;
	g->at[g->n] = (struct group){ .key = key, .before = name_of(gap->before), .after = name_of(gap->after) };
	return &g->at[g->n++];
}

/* ---- what they take ---- */

static bool add_gap(struct grouping *g, size_t i)
{
	const struct gap_story *story = &g->of->attribution.gaps[i];
	int64_t ns = diff_window_part(&g->window, story->gap->begin_ns, story->gap->end_ns);
	struct group *to = ns ? group_of(g, story->gap) : NULL;

	if (!to)
		return !ns;
	to->n++;
	to->all_ns += ns;
	if (ns > to->longest_ns) {
		to->longest_ns = ns;
		to->longest = i;
	}
	for (size_t k = 0; k < story->n_causes; k++) {
		const struct gap_cause *c = &story->causes[k];

		to->causes[c->cause] += diff_window_part(&g->window, c->begin_ns, c->end_ns);
	}
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->all_ns != y->all_ns)
		return x->all_ns > y->all_ns ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

/* ---- what is told of them ---- */

/* As `report --why` tells it, as much of it as there is room for. */
static bool add_lines(struct diff_gap *out, struct arena *texts, char *story)
{
	for (char *line = story, *next; *line && out->n_lines < DIFF_LINES; line = next) {
		char *end = strchrnul(line, '\n');

		next = *end ? end + 1 : end;
		*end = 0;
		out->lines[out->n_lines] = diff_keep_text(texts, line);
		if (!out->lines[out->n_lines++])
			return false;
	}
	return true;
}

static int by_length(const void *a, const void *b)
{
	const struct gap_cause *x = a, *y = b;
	int64_t x_ns = x->end_ns - x->begin_ns, y_ns = y->end_ns - y->begin_ns;

	return (x_ns < y_ns) - (x_ns > y_ns);
}

static bool tell_as(struct diff_gap *out, struct arena *texts, const struct gap_story *g)
{
	static const struct report_style style = { .columns = STORY_COLUMNS };
	char *story = NULL;
	size_t bytes = 0;
	struct page page = { open_memstream(&story, &bytes), &style };
	bool ok = page.out && report_owners(&page, g, PIECES_TOLD, false);

	ok = page.out && !ferror(page.out) && ok;
	ok = page.out && fclose(page.out) == 0 && ok;
	ok = ok && add_lines(out, texts, story);
	free(story);
	return ok;
}

/* What owns most of it first: there may be room for no more. */
static bool tell(struct diff_gap *out, struct arena *texts, const struct gap_story *g)
{
	struct gap_story sorted = { .gap = g->gap,
				    .causes = array_new(g->n_causes, sizeof(*g->causes)),
				    .n_causes = g->n_causes };
	bool ok = sorted.causes != NULL;

	if (ok) {
		memcpy(sorted.causes, g->causes, g->n_causes * sizeof(*g->causes));
		array_sort(sorted.causes, g->n_causes, sizeof(*g->causes), by_length);
		ok = tell_as(out, texts, &sorted);
	}
	free(sorted.causes);
	return ok;
}

/* By cause each mean is rounded down, and they sum to the group's. */
static bool gap_of(struct diff_gap *out, struct arena *texts, const struct grouping *g, const struct group *from)
{
	int64_t steps = g->window.n ? (int64_t)g->window.n : 1;

	*out = (struct diff_gap){ .key = from->key,
				  .per_step = (double)from->n / (double)steps,
				  .number = g->of->first_gap + from->longest,
				  .longest_ns = from->longest_ns,
				  .before = diff_keep_text(texts, from->before),
				  .after = diff_keep_text(texts, from->after) };
	for (size_t i = 0; i < CAUSE_COUNT; i++) {
		out->causes[i] = from->causes[i] / steps;
		out->ns_per_step += out->causes[i];
	}
	return out->before && out->after && tell(out, texts, &g->of->attribution.gaps[from->longest]);
}

static bool publish(struct diff_run *out, struct diff_run_device *d, struct grouping *g)
{
	struct diff_gap kept[DIFF_GAPS];
	size_t n = g->n < DIFF_GAPS ? g->n : DIFF_GAPS;
	bool ok = true;

	array_sort(g->at, g->n, sizeof(*g->at), by_time);
	for (size_t i = 0; ok && i < n; i++)
		ok = gap_of(&kept[i], &out->texts, g, &g->at[i]);
	d->gaps = ok ? diff_keep_list(&out->texts, kept, n, sizeof(*kept)) : NULL;
	d->n_gaps = d->gaps ? n : 0;
	return d->gaps != NULL;
}

enum err_kind diff_run_add_gaps(struct diff_run *out, struct diff_run_device *d, const struct summary *s,
				const struct summary_device *of, struct diff_window w, struct error *e)
{
	struct grouping *g = calloc(1, sizeof(*g));
	bool ok = g != NULL;

	(void)s;
	if (ok) {
		g->of = of;
		g->window = w;
	}
	for (size_t i = 0; ok && i < of->attribution.n_gaps; i++)
		ok = add_gap(g, i);
	ok = ok && publish(out, d, g);
	if (g) {
		hash_free(&g->index);
		free(g->at);
		free(g);
	}
	return ok ? ERR_NONE : err_no_memory(e, out->path);
}
