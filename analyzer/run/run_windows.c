/* SPDX-License-Identifier: BSD-2-Clause */
#include "run_windows.h"

#include "run.h"
#include "run_files_parts.h"
#include "tools/alloc.h"
#include "tools/ns.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct piece { /* an imported trace */
	struct trace *trace;
	int64_t begin_ns, end_ns; /* time of day, where it is known */
	size_t whose;             /* the same for those of one rank */
};

struct finder {
	struct run *run;
	struct piece *pieces;
	size_t n, ranks;     /* ranks: that are said */
	struct trace *first; /* of the first rank that has windows, */
	size_t files;        /* and how many */
	bool one_process;
	bool twice; /* some rank has several traces, of whatever time */
};

static bool is_ranked(const struct trace *t)
{
	return t->imported->ranks != GST_NONE;
}

static bool same_file(const struct piece *a, const struct piece *b)
{
	return strcmp(a->trace->path, b->trace->path) == 0;
}

static int by_process(const struct trace *a, const struct trace *b)
{
	if (a->header.pid != b->header.pid)
		return a->header.pid < b->header.pid ? -1 : 1;
	return strcmp(a->header.host, b->header.host);
}

static bool same_process(const struct trace *a, const struct trace *b)
{
	return by_process(a, b) == 0;
}

/* ---- whose they are --------------------------------------------------------------------------------------- */

static int by_rank(const struct trace *a, const struct trace *b)
{
	if (is_ranked(a) != is_ranked(b))
		return is_ranked(a) ? -1 : 1;
	if (is_ranked(a))
		return (a->imported->rank > b->imported->rank) - (a->imported->rank < b->imported->rank);
	return by_process(a, b);
}

static int by_begin(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return strcmp(x->trace->path, y->trace->path);
}

static int by_rank_and_begin(const void *a, const void *b)
{
	int order = by_rank(((const struct piece *)a)->trace, ((const struct piece *)b)->trace);

	return order ? order : by_begin(a, b);
}

/* Their times are one clock's if what they are counted from is one: all others of those files go with them. */
static void share_clock(struct run *run, const struct trace *first, const struct trace *t)
{
	const struct gst_file_header *a = &first->header, *b = &t->header;
	uint64_t to = a->pid_ns, from = b->pid_ns;

	if (from == to || !same_process(first, t) || !a->start_real_ns || !b->start_real_ns ||
	    a->start_real_ns - a->start_mono_ns != b->start_real_ns - b->start_mono_ns)
		return;
	for (size_t i = 0; i < run->n_traces; i++)
		if (run->traces[i]->header.pid_ns == from)
			run->traces[i]->header.pid_ns = to;
}

static int pieces_by_process(const void *a, const void *b)
{
	return by_process(((const struct piece *)a)->trace, ((const struct piece *)b)->trace);
}

/* Of a rank's traces those that are of a process that another one is of. Puts them into another order. */
static size_t further(struct piece *at, size_t n)
{
	size_t more = 0;

	array_sort(at, n, sizeof(*at), pieces_by_process);
	for (size_t i = 1; i < n; i++)
		more += same_process(at[i - 1].trace, at[i].trace);
	return more;
}

static void take_windows(struct finder *f, struct piece *at, size_t n, size_t files)
{
	bool works = false;

	for (size_t i = 0; i < n; i++) {
		works |= at[i].trace->n_measured > 0;
		f->one_process &= same_file(&at[0], &at[i]) || same_process(at[0].trace, at[i].trace);
		share_clock(f->run, at[0].trace, at[i].trace);
	}
	if (!works)
		return;
	f->files = f->first ? f->files : files;
	f->first = f->first ? f->first : at[0].trace;
	f->run->windowed++;
	f->run->windowed_ranks = is_ranked(at[0].trace); /* ranks come first */
	f->run->windows_more += further(at, n);
}

/* All traces of one rank, by their begin. Of pids without a rank it is known to be one only where the one ended before the other began. */
static void look(struct finder *f, struct piece *at, size_t n, size_t whose)
{
	int64_t end_ns = at[0].end_ns;
	bool overlap = false;
	size_t files = 1;

	for (size_t i = 1; i < n; i++) {
		if (!same_file(&at[i - 1], &at[i])) {
			files++;
			overlap |= at[i].begin_ns < end_ns;
		}
		end_ns = max64(end_ns, at[i].end_ns);
	}
	for (size_t i = 0; i < n; i++)
		at[i].whose = overlap && !is_ranked(at->trace) ? whose + i : whose;
	f->ranks += is_ranked(at->trace);
	f->twice |= files > 1 && (!overlap || is_ranked(at->trace));
	if (files > 1 && !overlap)
		take_windows(f, at, n, files);
}

static void look_at_all(struct finder *f)
{
	array_sort(f->pieces, f->n, sizeof(*f->pieces), by_rank_and_begin);
	for (size_t i = 0, end; i < f->n; i = end) {
		for (end = i + 1; end < f->n && by_rank(f->pieces[i].trace, f->pieces[end].trace) == 0;)
			end++;
		look(f, &f->pieces[i], end - i, i);
	}
}

/* ---- what is compared ------------------------------------------------------------------------------------- */

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct piece *)a)->trace->path, ((const struct piece *)b)->trace->path);
}

/* A file's processes are one window whatever the times of each: all have the file's. */
static void span_files(struct finder *f)
{
	struct piece *at = f->pieces;

	array_sort(at, f->n, sizeof(*at), by_path);
	for (size_t i = 0, end; i < f->n; i = end) {
		int64_t begin_ns = at[i].begin_ns, end_ns = at[i].end_ns;

		for (end = i + 1; end < f->n && same_file(&at[i], &at[end]); end++) {
			begin_ns = min64(begin_ns, at[end].begin_ns);
			end_ns = max64(end_ns, at[end].end_ns);
		}
		for (size_t k = i; k < end; k++) {
			at[k].begin_ns = begin_ns;
			at[k].end_ns = end_ns;
		}
	}
}

static int by_whose(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->whose != y->whose)
		return x->whose < y->whose ? -1 : 1;
	return strcmp(x->trace->path, y->trace->path);
}

/* Of those that overlap: each rank once, as far as files go. *ranks: how many. */
static bool each_once(struct piece *at, size_t n, size_t *ranks)
{
	array_sort(at, n, sizeof(*at), by_whose);
	*ranks = is_ranked(at[0].trace);
	for (size_t i = 1; i < n; i++) {
		if (at[i - 1].whose != at[i].whose)
			*ranks += is_ranked(at[i].trace);
		else if (!same_file(&at[i - 1], &at[i]))
			return false;
	}
	return true;
}

/* Those that overlap: one window, or, where they are apart, each file one. Returns the number after. */
static uint32_t number(struct piece *at, size_t n, uint32_t next, bool apart)
{
	array_sort(at, n, sizeof(*at), by_path);
	for (size_t i = 0; i < n; i++) {
		next += apart && i && !same_file(&at[i - 1], &at[i]);
		at[i].trace->imported->window = next;
	}
	return next + 1;
}

/* Numbers the windows. True: in one of them a rank is there twice, and nothing of it is compared. */
static bool number_windows(struct finder *f)
{
	struct piece *at = f->pieces;
	uint32_t next = 0;
	bool apart = false;

	span_files(f);
	array_sort(at, f->n, sizeof(*at), by_begin); /* those of a file stay together */
	for (size_t i = 0, end; i < f->n; i = end) {
		int64_t end_ns = at[i].end_ns;
		size_t ranks;
		bool once;

		for (end = i + 1; end < f->n && (at[end].begin_ns < end_ns || same_file(&at[end - 1], &at[end])); end++)
			end_ns = max64(end_ns, at[end].end_ns);
		once = each_once(&at[i], end - i, &ranks);
		next = number(&at[i], end - i, next, !once);
		apart |= !once;
		f->run->windows_uneven |= !once || ranks != f->ranks;
	}
	return apart;
}

/* ---- what is said ----------------------------------------------------------------------------------------- */

static bool say_windows(const struct finder *f)
{
	bool ranked = f->run->windowed_ranks, several = f->run->windowed > 1;
	const char *what = !f->one_process ? ""
			   : several       ? "those of each are taken for windows of one process, "
					   : "taken for windows of one process, ";
	struct trace *t = f->first;

	if (!t)
		return true;
	if (several)
		return run_files_warn(t,
				      "%zu %s have several traces each, one after the other: %seach is shown by itself",
				      f->run->windowed, ranked ? "ranks" : "processes", what);
	return run_files_warn(t, "%s %" PRIu32 " has %zu traces, one after the other: %seach is shown by itself",
			      ranked ? "rank" : "process", ranked ? t->imported->rank : t->header.pid, f->files, what);
}

static bool find(struct finder *f)
{
	struct trace *first = f->pieces[0].trace;

	look_at_all(f);
	if (!f->twice)
		return true;
	return say_windows(f) &&
	       (!number_windows(f) ||
		run_files_warn(
			first,
			"a rank has several traces of one time, as of several jobs, or several within one of another "
			"rank: collectives of that time are not compared between ranks"));
}

bool run_windows_find(struct run *run)
{
	struct finder f = { .run = run, .one_process = true };
	bool ok = true;

	f.pieces = array_new(run->n_traces, sizeof(*f.pieces));
	if (!f.pieces)
		return false;
	for (size_t i = 0; i < run->n_traces; i++) {
		struct trace *t = run->traces[i];
		int64_t begin_ns = t->header.start_real_ns ? (int64_t)t->header.start_real_ns : t->begin_ns;

		if (t->imported)
			f.pieces[f.n++] =
				(struct piece){ t, begin_ns, sum64(begin_ns, sum64(t->end_ns, -t->begin_ns)), 0 };
	}
	if (f.n > 1)
		ok = find(&f);
	free(f.pieces);
	return ok;
}
