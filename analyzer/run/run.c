/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include "host/host_match.h"
#include "run_files.h"
#include "run_windows.h"
#include "tools/alloc.h"
#include "tools/progress.h"
#include "tools/spill.h"
#include "trace/front.h"

#include <stdlib.h>
#include <string.h>

static enum err_kind no_memory(struct error *e)
{
	return err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");
}

/* ---- lifetimes -------------------------------------------------------------------------------------- */

/* The kernel counts a process's start in steps of 10 ms, rounded down: taken a step later, runs back to back stay apart. */
#define START_STEP_NS 10000000

/* a + b, at the ends of what there is where they are too large: the numbers come from a file. */
static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static int64_t limited(uint64_t ns)
{
	return ns < INT64_MAX / 2 ? (int64_t)ns : INT64_MAX / 2;
}

/* When the process began to live, which may be long before its first driver call: a parent that makes its first one when its child
 * has ended is of the child's run all the same. Time of day. */
static int64_t life_begin(const struct run_file *f)
{
	int64_t first = limited(f->header.start_mono_ns), start = limited(f->header.process_start_mono_ns);

	if (start && start + START_STEP_NS < first)
		first = start + START_STEP_NS;
	return add(first, f->to_wall_ns);
}

static int64_t life_end(const struct run_file *f)
{
	return add(f->trace->end_ns, f->to_wall_ns);
}

static int by_begin(const void *a, const void *b)
{
	const struct run_file *x = a, *y = b;

	if (life_begin(x) != life_begin(y))
		return life_begin(x) < life_begin(y) ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* ---- files -> runs ---------------------------------------------------------------------------------- */

/* Over a file: one is enough for launches that are folded. */
static uint64_t passes(bool fold)
{
	return fold ? 1 : 2;
}

static enum err_kind decode(struct run_file *f, bool fold, int64_t now_ns, struct error *e)
{
	if (f->trace)
		return ERR_NONE;
	return (fold ? trace_open_folded : trace_open)(&f->trace, f->path, now_ns, e);
}

/* Only of a process without an id it matters how long it lived; the others need not be decoded for that. */
static enum err_kind decode_without_id(struct run_files *files, int64_t now_ns, struct error *e)
{
	enum err_kind kind = ERR_NONE;
	uint64_t bytes = 0;

	if (files->n_imported)
		return ERR_NONE; /* they are there */
	for (size_t i = 0; i < files->n; i++)
		bytes += files->at[i].header.run_id[0] ? 0 : passes(files->fold) * files->at[i].bytes;
	progress_begin(PROGRESS_READ, bytes);
	for (size_t i = 0; i < files->n && !kind; i++)
		if (!files->at[i].header.run_id[0])
			kind = decode(&files->at[i], files->fold, now_ns, e);
	return kind;
}

/* Traces of other tools that are named together are one run: the ranks of a job, mostly. Gives each file the number of its run; returns how many runs
 * there are. The files are sorted by begin, so one without an id
 * overlaps an earlier one exactly when it begins before the latest end so far in that one's run. */
static int number_runs(const struct run_files *files, int *run_of)
{
	int runs = 0, open = -1; /* open: the run of files without an id that may still be going on */
	int64_t open_end = 0;

	for (size_t i = 0; i < files->n; i++) {
		const struct run_file *f = &files->at[i];
		int run = -1;

		if (f->trace && f->trace->imported) {
			run = runs ? 0 : -1;
		} else if (f->header.run_id[0]) {
			for (size_t k = 0; k < i && run < 0; k++)
				if (strcmp(files->at[k].header.run_id, f->header.run_id) == 0)
					run = run_of[k];
		} else if (open >= 0 && life_begin(f) <= open_end) {
			run = open;
		}
		if (run < 0)
			run = runs++;
		if (!f->header.run_id[0]) {
			open_end = run == open && open_end > life_end(f) ? open_end : life_end(f);
			open = run;
		}
		run_of[i] = run;
	}
	return runs;
}

/* Files in the order of their begin: a run's first is its oldest process. */
static bool list_runs(struct run *out, const struct run_files *files, const int *run_of, int runs)
{
	out->listed = array_new((size_t)runs, sizeof(*out->listed));
	if (!out->listed)
		return false;
	out->count = runs;
	for (size_t i = 0; i < files->n; i++) {
		const struct gst_file_header *h = &files->at[i].header;
		struct run_listed *run = &out->listed[run_of[i]];

		if (run->processes++)
			continue;
		run->begin_real_ns = limited(h->start_real_ns);
		run->command = strdup(h->cmdline[0] ? h->cmdline : h->exe);
		run->id = strdup(h->run_id);
		if (!run->command || !run->id)
			return false;
	}
	return true;
}

/* Decodes the files of the run and takes their traces over. */
static enum err_kind take(struct run *out, struct run_files *files, const int *run_of, int chosen, int64_t now_ns,
			  struct error *e)
{
	out->traces = array_new(files->n, sizeof(*out->traces));
	if (!out->traces)
		return no_memory(e);
	for (size_t i = 0; i < files->n; i++)
		if ((chosen == RUN_ALL || run_of[i] == chosen) && !files->at[i].trace)
			progress_more(passes(files->fold) * files->at[i].bytes);
	for (size_t i = 0; i < files->n; i++) {
		enum err_kind kind;

		if (chosen != RUN_ALL && run_of[i] != chosen)
			continue;
		kind = decode(&files->at[i], files->fold, now_ns, e);
		if (kind)
			return kind;
		out->traces[out->n_traces++] = files->at[i].trace;
		files->at[i].trace = NULL;
	}
	/* processes may have held up each other's kernels, and ranks are compared by these */
	for (size_t i = 0; i < out->n_traces && out->n_traces > 1; i++)
		if (!trace_unfold(out->traces[i]))
			return no_memory(e);
	return front_align(out->traces, out->n_traces) && run_windows_find(out) ? ERR_NONE : no_memory(e);
}

/* Could it have watched a process of the run that was taken, by what its header says? */
static bool may_have_watched(const struct run *run, const struct gst_file_header *h)
{
	for (size_t i = 0; i < run->n_traces; i++) {
		const char *id = run->traces[i]->header.run_id;

		if (!h->run_id[0] || !id[0] || strcmp(h->run_id, id) == 0)
			return true;
	}
	return false;
}

/* Did it? */
static bool watched(const struct run *run, struct host_trace *h)
{
	for (size_t i = 0; i < run->n_traces; i++) {
		const struct gst_file_header *p = &run->traces[i]->header;

		if (h->header.run_id[0] && p->run_id[0] ? strcmp(h->header.run_id, p->run_id) == 0
							: host_match_process(&h, 1, run->traces[i]) != NULL)
			return true;
	}
	return false;
}

/* Damaged before anything is said of whom it watched: that is told. */
static bool says_nothing(const struct host_trace *h)
{
	return h->damage.kind && h->n_tasks == 0;
}

/* Only those are decoded that may be of the run. One that cannot be read takes nothing but its own chains away: that is told. */
static enum err_kind take_hosts(struct run *out, struct run_files *files, int chosen, int64_t now_ns, struct error *e)
{
	out->hosts = array_new(files->n_hosts, sizeof(*out->hosts));
	if (!out->hosts)
		return no_memory(e);
	for (size_t i = 0; i < files->n_hosts; i++) {
		struct run_host *h = &files->hosts[i];
		bool unsaid = chosen == RUN_ALL || (files->only_id && !h->header.run_id[0]);
		enum err_kind kind;

		if (chosen != RUN_ALL && !may_have_watched(out, &h->header))
			continue;
		progress_more(passes(false) * h->bytes);
		kind = host_trace_open(&h->trace, h->path, now_ns, e);
		if (kind && !run_files_without_host(files, h->path, unsaid ? "" : out->listed[chosen].id, e))
			return e->kind;
		if (kind || (chosen != RUN_ALL && !watched(out, h->trace) && !says_nothing(h->trace)))
			continue;
		out->hosts[out->n_hosts++] = h->trace;
		h->trace = NULL;
	}
	return ERR_NONE;
}

static enum err_kind group(struct run *out, struct run_files *files, int which, int64_t now_ns, struct error *e)
{
	int *run_of = array_new(files->n, sizeof(*run_of));
	int runs, chosen;
	enum err_kind kind = run_of ? decode_without_id(files, now_ns, e) : no_memory(e);

	if (!kind) {
		array_sort(files->at, files->n, sizeof(*files->at), by_begin);
		runs = number_runs(files, run_of);
		chosen = which == RUN_LAST ? runs - 1 : which;
		if (chosen != RUN_ALL && (chosen < 0 || chosen >= runs))
			kind = err_set(e, ERR_USAGE, "", ERR_NO_BYTE,
				       runs == 1 ? "there is no run %d; the only one is 0"
						 : "there is no run %d; they are 0 to %d",
				       which, runs - 1);
		else if (!list_runs(out, files, run_of, runs))
			kind = no_memory(e);
		else
			kind = take(out, files, run_of, chosen, now_ns, e);
		if (!kind)
			kind = take_hosts(out, files, chosen, now_ns, e);
		out->index = chosen == RUN_ALL ? 0 : chosen;
	}
	free(run_of);
	return kind;
}

/* Could it be of the run that was chosen? A trace without an id may be of any run without one that had begun; of host probes that do not say whose
 * they are nothing is known; and the last run may be missing whole. */
static bool concerns(const struct run *run, const struct run_missing *m, int which)
{
	const struct run_listed *chosen = run->listed ? &run->listed[run->index] : NULL;

	if (which == RUN_ALL || !chosen || (m->host && !m->run_id[0]))
		return true;
	if (m->run_id[0] && strcmp(m->run_id, chosen->id) == 0)
		return true;
	return (which == RUN_LAST || (!m->run_id[0] && !chosen->id[0])) && m->begin_real_ns >= chosen->begin_real_ns;
}

static void take_missing(struct run *out, struct run_files *files, int which)
{
	out->missing = files->missing;
	files->missing = NULL;
	for (size_t i = 0; i < files->n_missing; i++) {
		if (concerns(out, &out->missing[i], which))
			out->missing[out->n_missing++] = out->missing[i];
		else
			free(out->missing[i].text);
	}
	files->n_missing = 0;
}

/* Where there is no recording of any process. */
static enum err_kind take_without_processes(struct run *out, struct run_files *files, int which, int64_t now_ns,
					    struct error *e)
{
	if (!files->n_hosts && !files->only_id)
		return err_set(e, ERR_USAGE, "", ERR_NO_BYTE, "no trace given");
	if (files->n_hosts && files->hosts_alone)
		return which >= 0 ? err_set(e, ERR_USAGE, "", ERR_NO_BYTE,
					    "there is no run %d; there are only host probes", which)
				  : take_hosts(out, files, RUN_ALL, now_ns, e);
	return files->only_id ? ERR_NONE
			      : err_set(e, ERR_FORMAT, files->hosts[0].path, ERR_NO_BYTE,
					"only host probes, and no recording of a process");
}

static enum err_kind open_files(struct run *out, char *const paths[], size_t n_paths, int which, struct run_files files,
				struct error *e)
{
	int64_t now_ns = life_now_ns();
	enum err_kind kind = ERR_NONE;

	*out = (struct run){ 0 };
	for (size_t i = 0; i < n_paths && !kind; i++)
		kind = run_files_add(&files, paths[i], e);
	if (!kind && files.n_imported && (files.n > files.n_imported || files.n_hosts))
		kind = err_set(
			e, ERR_USAGE, "", ERR_NO_BYTE,
			"recordings of gpushim and traces of other tools cannot be analysed together: their times are on different clocks");
	if (!kind)
		kind = files.n ? group(out, &files, which, now_ns, e)
			       : take_without_processes(out, &files, which, now_ns, e);
	if (!kind)
		take_missing(out, &files, which);
	run_files_free(&files);
	if (kind)
		run_close(out);
	return kind;
}

enum err_kind run_open(struct run *out, char *const paths[], size_t n_paths, int which, struct error *e)
{
	return open_files(out, paths, n_paths, which, (struct run_files){ 0 }, e);
}

enum err_kind run_open_folded(struct run *out, char *const paths[], size_t n_paths, int which, struct error *e)
{
	return open_files(out, paths, n_paths, which, (struct run_files){ .fold = true }, e);
}

enum err_kind run_open_any(struct run *out, char *const paths[], size_t n_paths, int which, struct error *e)
{
	return open_files(out, paths, n_paths, which, (struct run_files){ .hosts_alone = true }, e);
}

enum err_kind run_open_id(struct run *out, char *path, const char *id, struct error *e)
{
	return open_files(out, &path, 1, RUN_LAST, (struct run_files){ .only_id = id }, e);
}

void run_close(struct run *r)
{
	for (size_t i = 0; i < r->n_traces; i++)
		trace_free(r->traces[i]);
	for (size_t i = 0; i < r->n_hosts; i++)
		host_trace_free(r->hosts[i]);
	for (int i = 0; r->listed && i < r->count; i++) {
		free(r->listed[i].command);
		free(r->listed[i].id);
	}
	run_missing_free(r->missing, r->n_missing);
	free(r->listed);
	free(r->traces);
	free(r->hosts);
	spill_give_back();
	*r = (struct run){ 0 };
}
