/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include "alloc.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct trace_list {
	struct trace **at;
	size_t n, cap;
	struct {
		dev_t dev;
		ino_t ino;
	} * files; /* read so far: one that is named twice is one process all the same */
	size_t n_files, cap_files;
};

static enum err_kind no_memory(struct error *e)
{
	return err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");
}

/* ---- paths -> traces -------------------------------------------------------------------------------- */

static bool already_read(const struct trace_list *list, const struct stat *st)
{
	for (size_t i = 0; i < list->n_files; i++)
		if (list->files[i].dev == st->st_dev && list->files[i].ino == st->st_ino)
			return true;
	return false;
}

static enum err_kind add_file(struct trace_list *list, const char *path, struct error *e)
{
	struct trace *t;
	struct stat st;
	enum err_kind kind;

	if (stat(path, &st) == 0) {
		if (already_read(list, &st))
			return ERR_NONE;
		if (!array_room(list->files, list->n_files, list->cap_files))
			return no_memory(e);
		list->files[list->n_files].dev = st.st_dev;
		list->files[list->n_files++].ino = st.st_ino;
	}
	kind = trace_open(&t, path, e);
	if (kind)
		return kind;
	if (!array_room(list->at, list->n, list->cap)) {
		trace_free(t);
		return no_memory(e);
	}
	list->at[list->n++] = t;
	return ERR_NONE;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

/* Host probe files carry the same suffix and more; they are not processes. */
static int is_trace(const struct dirent *d)
{
	return d->d_name[0] != '.' && ends_with(d->d_name, ".gst") && !ends_with(d->d_name, ".host.gst");
}

static enum err_kind add_named(struct trace_list *list, const char *dir, const char *name, struct error *e)
{
	char *path;
	enum err_kind kind;

	if (asprintf(&path, "%s%s%s", dir, ends_with(dir, "/") ? "" : "/", name) < 0)
		return no_memory(e);
	kind = add_file(list, path, e);
	free(path);
	return kind;
}

static enum err_kind add_directory(struct trace_list *list, const char *path, struct error *e)
{
	struct dirent **entries;
	int n = scandir(path, &entries, is_trace, alphasort);
	enum err_kind kind = ERR_NONE;

	if (n < 0)
		return err_set(e, ERR_SYSTEM, path, ERR_NO_BYTE, "cannot read the directory: %s", strerror(errno));
	if (n == 0)
		kind = err_set(e, ERR_FORMAT, path, ERR_NO_BYTE, "no .gst file in this directory");
	for (int i = 0; i < n; i++) {
		if (!kind)
			kind = add_named(list, path, entries[i]->d_name, e);
		free(entries[i]);
	}
	free(entries);
	return kind;
}

static enum err_kind add_path(struct trace_list *list, const char *path, struct error *e)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_set(e, ERR_SYSTEM, path, ERR_NO_BYTE, "cannot open: %s", strerror(errno));
	return S_ISDIR(st.st_mode) ? add_directory(list, path, e) : add_file(list, path, e);
}

/* ---- traces -> runs --------------------------------------------------------------------------------- */

/* The kernel counts a process's start in steps of 10 ms, rounded down: taken a step later, runs back to back stay apart. */
#define START_STEP_NS 10000000

/* When the process began to live, which may be long before its first driver call: a parent that makes its first one when its child
 * has ended is of the child's run all the same. */
static int64_t life_begin(const struct trace *t)
{
	int64_t start = t->process_start_ns + START_STEP_NS;

	return start < t->begin_ns ? start : t->begin_ns;
}

static int by_begin(const void *a, const void *b)
{
	const struct trace *x = *(struct trace *const *)a, *y = *(struct trace *const *)b;

	if (life_begin(x) != life_begin(y))
		return life_begin(x) < life_begin(y) ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* Gives each trace the number of its run; returns how many runs there are. The traces are sorted by begin, so a trace without
 * an id overlaps an earlier one exactly when it begins before the latest end so far in that one's run. */
static int number_runs(const struct trace_list *list, int *run_of)
{
	int runs = 0, open = -1; /* open: the run of traces without an id that may still be going on */
	int64_t open_end = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct trace *t = list->at[i];
		int run = -1;

		if (t->header.run_id[0]) {
			for (size_t k = 0; k < i && run < 0; k++)
				if (strcmp(list->at[k]->header.run_id, t->header.run_id) == 0)
					run = run_of[k];
		} else if (open >= 0 && life_begin(t) <= open_end) {
			run = open;
		}
		if (run < 0)
			run = runs++;
		if (!t->header.run_id[0]) {
			open_end = run == open && open_end > t->end_ns ? open_end : t->end_ns;
			open = run;
		}
		run_of[i] = run;
	}
	return runs;
}

/* Keeps the traces of one run, frees the others. */
static void choose(struct run *out, struct trace_list *list, const int *run_of, int chosen)
{
	for (size_t i = 0; i < list->n; i++) {
		if (chosen == RUN_ALL || run_of[i] == chosen)
			out->traces[out->n_traces++] = list->at[i];
		else
			trace_free(list->at[i]);
	}
	list->n = 0;
}

static enum err_kind group(struct run *out, struct trace_list *list, int which, struct error *e)
{
	int *run_of = array_new(list->n, sizeof(*run_of));
	int runs, chosen;

	out->traces = array_new(list->n, sizeof(*out->traces));
	if (!run_of || !out->traces) {
		free(run_of);
		return no_memory(e);
	}
	qsort(list->at, list->n, sizeof(struct trace *), by_begin);
	runs = number_runs(list, run_of);
	chosen = which == RUN_LAST ? runs - 1 : which;
	if (chosen != RUN_ALL && (chosen < 0 || chosen >= runs)) {
		free(run_of);
		return err_set(e, ERR_USAGE, "", ERR_NO_BYTE, "there is no run %d; they are 0 to %d", which, runs - 1);
	}
	choose(out, list, run_of, chosen);
	out->index = chosen == RUN_ALL ? 0 : chosen;
	out->count = runs;
	free(run_of);
	return ERR_NONE;
}

enum err_kind run_open(struct run *out, char *const paths[], size_t n_paths, int which, struct error *e)
{
	struct trace_list list = { 0 };
	enum err_kind kind = ERR_NONE;

	*out = (struct run){ 0 };
	for (size_t i = 0; i < n_paths && !kind; i++)
		kind = add_path(&list, paths[i], e);
	if (!kind && list.n == 0)
		kind = err_set(e, ERR_USAGE, "", ERR_NO_BYTE, "no trace given");
	if (!kind)
		kind = group(out, &list, which, e);
	for (size_t i = 0; i < list.n; i++)
		trace_free(list.at[i]);
	free(list.at);
	free(list.files);
	if (kind)
		run_close(out);
	return kind;
}

void run_close(struct run *r)
{
	for (size_t i = 0; i < r->n_traces; i++)
		trace_free(r->traces[i]);
	free(r->traces);
	*r = (struct run){ 0 };
}
