/* SPDX-License-Identifier: BSD-2-Clause */
/* html_gaps.c: the stories of the longest gaps: what `report --json` says of each, and what was around it. */
#include "html.h"

#include <stdlib.h>

#include "cause/doubt.h"
#include "gap/gap_view.h"
#include "report/report_json.h"
#include "report/report_words.h"
#include "tools/alloc.h"
#include "tools/text.h"

#define STORIES 2000
#define STORIES_BYTES (3u << 20) /* of all */
#define CALLS 24                 /* of the submitting thread, the last ones */
#define AROUND 4                 /* operations before the gap, and behind it */

static enum html_class op_class(const struct op *op)
{
	static const enum html_class classes[] = {
		[OP_KERNEL] = HTML_COMPUTE, [OP_COMM] = HTML_COMM,     [OP_COPY] = HTML_COPY,
		[OP_MEMSET] = HTML_MEMSET,  [OP_HOSTFN] = HTML_HOSTFN,
	};

	return classes[op->of->class];
}

static void op_json(struct html *h, const struct op *op)
{
	struct json *j = &h->json;

	json_map(j);
	json_key_int(j, "class", op_class(op));
	json_key_int(j, "name", html_string(&h->strings, op_title(op)));
	json_key_int(j, "begin_ns", op->begin_ns);
	json_key_int(j, "end_ns", op->end_ns);
	if (op->call->stream < op->of->trace->n_streams)
		json_key_int(j, "stream", op->of->trace->streams[op->call->stream].id);
	if (op->of->class == OP_COPY || op->of->class == OP_MEMSET)
		json_key_uint(j, "bytes", op_bytes(op));
	if (op->of->count > 1)
		json_key_int(j, "count", op->of->count);
	if (!op->of->unlinked)
		json_key_int(j, "call", html_string(&h->strings, call_name(op->of->trace, op->call)));
	json_map_end(j);
}

static bool begins_before(const void *element, const void *key)
{
	return ((const struct op *)element)->begin_ns < *(const int64_t *)key;
}

/* What the device did last before it, and first behind it. */
static void around(struct html *h, const struct device_timeline *d, const struct gap *g)
{
	size_t behind = array_first(d->ops, d->n_ops, sizeof(*d->ops), begins_before, &g->end_ns);
	size_t first = behind > AROUND ? behind - AROUND : 0;

	json_key_array(&h->json, "around");
	for (size_t i = first; i < d->n_ops && i < behind + AROUND; i++)
		op_json(h, &d->ops[i]);
	json_array_end(&h->json);
}

static void calls(struct html *h, const struct gap_view *v)
{
	struct json *j = &h->json;
	size_t first = v->n_calls > CALLS ? v->n_calls - CALLS : 0;

	json_key_int(j, "calls_before", (int64_t)first); /* that are not listed */
	json_key_array(j, "calls");
	for (size_t i = first; i < v->n_calls; i++) {
		const struct call *c = v->calls[i];

		json_map(j);
		json_key_int(j, "name", html_string(&h->strings, call_name(v->trace, c)));
		json_key_int(j, "begin_ns", c->begin_ns);
		json_key_int(j, "end_ns", c->end_ns);
		if (c->result)
			json_key_int(j, "result", c->result);
		if (c == v->submit) {
			json_key(j, "ends_gap");
			json_bool(j, true);
		}
		json_map_end(j);
	}
	json_array_end(j);
}

static bool story(struct html *h, size_t number, struct gap_view *v)
{
	const struct summary_device *d = NULL;
	const struct gap_story *g = summary_gap(h->s, number, &d);
	struct json *j = &h->json;

	if (!gap_view_set(v, d->timeline, g->gap, &h->s->threads))
		return false;
	json_map(j);
	json_key_int(j, "gap", (int64_t)number);
	json_key_int(j, "device", d->number);
	json_key_uint(j, "at_ns", html_ns(h, html_clock_of_device(h, (size_t)(d - h->s->devices)), g->gap->begin_ns));
	report_gap_json(j, h->s, g);
	json_key_text(j, "known_by", words_boundary(g->gap->begin_known_by));
	json_key(j, "doubt");
	json_bool(j, doubt_about(d->timeline, g->gap, doubt_from(d->timeline, h->s->threads.run)));
	if (v->trace && v->tid) {
		json_key_int(j, "pid", v->trace->header.pid);
		json_key_int(j, "tid", v->tid);
		json_key_int(j, "thread", html_string(&h->strings, trace_thread_name(v->trace, v->tid)));
	}
	calls(h, v);
	around(h, d->timeline, g->gap);
	json_map_end(j);
	return true;
}

static bool tell(struct html *h, size_t number, struct gap_view *v)
{
	h->told[number] = true;
	h->stories[h->n_stories++] = number;
	return story(h, number, v);
}

/* ---- which ---- */

/* The longest that each cause owns a part of, device by device: the first numbers of the list. */
static void longest_of_causes(const struct summary *s, bool *told)
{
	for (size_t i = 0; i < s->n_devices; i++) {
		const struct attribution *a = &s->devices[i].attribution;
		int64_t most[CAUSE_COUNT] = { 0 };
		size_t of[CAUSE_COUNT];

		for (size_t g = 0; g < a->n_gaps; g++)
			for (size_t c = 0; c < a->gaps[g].n_causes; c++) {
				const struct gap_cause *x = &a->gaps[g].causes[c];

				if (x->end_ns - x->begin_ns <= most[x->cause])
					continue;
				most[x->cause] = x->end_ns - x->begin_ns;
				of[x->cause] = g;
			}
		for (int c = 0; c < CAUSE_COUNT; c++)
			if (most[c])
				told[s->devices[i].first_gap + of[c]] = true;
	}
}

/* Those of causes first, then the longest: until there are enough, or they are big enough. */
static bool stories(struct html *h, const bool *first, const size_t *longest, size_t n)
{
	struct gap_view view = { 0 };
	uint64_t begin = html_written(h);
	bool ok = true;
	size_t left = STORIES;

	for (size_t i = 0; ok && i < h->s->n_gaps && left; i++) {
		if (!first[i] || html_written(h) - begin > STORIES_BYTES)
			continue;
		ok = tell(h, i, &view);
		left--;
	}
	for (size_t i = 0; ok && i < n && left && html_written(h) - begin <= STORIES_BYTES; i++) {
		if (h->told[longest[i]])
			continue;
		ok = tell(h, longest[i], &view);
		left--;
	}
	gap_view_free(&view);
	return ok;
}

enum err_kind html_gaps(struct html *h, struct error *e)
{
	size_t n = STORIES;
	size_t *longest = summary_longest(h->s, &n);
	bool *first = array_new(h->s->n_gaps, sizeof(*first)), ok;

	h->stories = array_new(STORIES, sizeof(*h->stories));
	ok = longest && first && h->stories;
	if (ok) {
		longest_of_causes(h->s, first);
		json_key_int(&h->json, "gaps_all", (int64_t)h->s->n_gaps);
		json_key_array(&h->json, "gaps");
		ok = stories(h, first, longest, n);
		json_array_end(&h->json);
	}
	free(longest);
	free(first);
	return ok ? ERR_NONE : err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
}
