/* SPDX-License-Identifier: BSD-2-Clause */
/* report_gaps_json.c: the gaps of a report: most of it. Of many, stretches are written side by side, each into memory, a window of them at a time. */
#include "report_json.h"

#include <limits.h>
#include <stdlib.h>

#include "report_stacks.h"
#include "tools/pool.h"
#include "tools/text.h"

#define STRETCH 32 /* gaps that are one task */
#define WINDOW 16  /* stretches that are in memory at once */

/* The path whole: what cuts it takes away what tells it from others. */
static void waited_for(struct json *j, const struct chain_file *file)
{
	char clean[PATH_MAX + 4];

	json_key_text(j, "file", text_clean(clean, sizeof(clean), file->path, sizeof(clean)));
	if (file->offset != UINT64_MAX) {
		json_key_uint(j, "offset", file->offset);
		json_key_uint(j, "last_offset", file->last_offset);
	}
	if (file->bytes)
		json_key_uint(j, "bytes", file->bytes);
}

static void chain(struct json *j, const struct gap_cause *c)
{
	json_key_array(j, "chain");
	for (size_t i = 0; i < c->n_chain; i++) {
		const struct chain_link *link = &c->chain[i];

		json_map(j);
		json_key_int(j, "pid", link->pid);
		json_key_int(j, "tid", link->tid);
		json_key_text(j, "name", link->name);
		json_key_text(j, "state", link->state);
		if (link->file)
			waited_for(j, link->file);
		json_key_int(j, "begin_ns", link->begin_ns);
		json_key_int(j, "end_ns", link->end_ns);
		json_key_text(j, "woken_by", link->woken_by);
		json_map_end(j);
	}
	json_array_end(j);
}

static void gap_cause(struct json *j, const struct summary *s, const struct gap_cause *c)
{
	json_map(j);
	json_key_text(j, "id", cause_name(c->cause));
	json_key_int(j, "begin_ns", c->begin_ns);
	json_key_int(j, "end_ns", c->end_ns);
	json_key_text(j, "confidence", confidence_name(c->confidence));
	json_key_array(j, "evidence");
	for (size_t i = 0; i < c->n_evidence; i++)
		json_text(j, c->evidence[i]);
	json_array_end(j);
	chain(j, c);
	report_held_json(j, s, c);
	json_map_end(j);
}

void report_gap_json(struct json *j, const struct summary *s, const struct gap_story *story)
{
	json_key_int(j, "begin_ns", story->gap->begin_ns);
	json_key_int(j, "end_ns", story->gap->end_ns);
	json_key_int(j, "begin_error_ns", story->gap->begin_error_ns);
	json_key_int(j, "end_error_ns", story->gap->end_error_ns);
	json_key_array(j, "causes");
	for (size_t i = 0; i < story->n_causes; i++)
		gap_cause(j, s, &story->causes[i]);
	json_array_end(j);
}

static void gap_story(struct json *j, const struct summary *s, const struct gap_story *story)
{
	json_map(j);
	report_gap_json(j, s, story);
	json_map_end(j);
}

static void some_gaps(struct json *j, const struct summary *s, const struct summary_device *d, const bool *listed,
		      size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		if (!listed || listed[d->first_gap + i])
			gap_story(j, s, &d->attribution.gaps[i]);
}

/* ---- side by side ---- */

struct window {
	const struct summary *s;
	const struct summary_device *d;
	const bool *listed;
	size_t first, end; /* gaps */
	bool shown;
	char *text[WINDOW];
	size_t bytes[WINDOW];
};

static enum err_kind write_stretch(void *job, size_t stretch, struct error *e)
{
	struct window *w = job;
	size_t first = w->first + stretch * STRETCH, end = w->end - first < STRETCH ? w->end : first + STRETCH;
	FILE *out = open_memstream(&w->text[stretch], &w->bytes[stretch]);
	struct json j;
	bool failed;

	if (!out)
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	json_open_values(&j, out);
	j.shown = w->shown;
	some_gaps(&j, w->s, w->d, w->listed, first, end);
	json_flush(&j);
	failed = ferror(out) != 0;
	return fclose(out) != 0 || failed ? err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory") : ERR_NONE;
}

/* What there is no memory for beside each other is written one after another. */
static void write_window(struct json *j, struct window *w)
{
	size_t n = (w->end - w->first + STRETCH - 1) / STRETCH;

	if (pool_run(n, write_stretch, w, NULL) == ERR_NONE)
		for (size_t i = 0; i < n; i++)
			json_written(j, w->text[i], w->bytes[i]);
	else
		some_gaps(j, w->s, w->d, w->listed, w->first, w->end);
	for (size_t i = 0; i < n; i++)
		free(w->text[i]);
}

void report_gaps_json(struct json *j, const struct summary *s, const struct summary_device *d, const bool *listed)
{
	size_t n = d->attribution.n_gaps, most = WINDOW * STRETCH;

	if (pool_threads() == 1 || n <= STRETCH) {
		some_gaps(j, s, d, listed, 0, n);
		return;
	}
	for (size_t first = 0; first < n; first += most) {
		struct window w = { .s = s, .d = d, .listed = listed, .first = first, .shown = j->shown };

		w.end = n - first < most ? n : first + most;
		write_window(j, &w);
	}
}
