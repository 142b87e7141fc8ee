/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_diff.c: did idle time get worse, where, and are we sure. Runs are read one after the other: of each only what is compared is kept. */
#include "cmd.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd_output.h"
#include "diff/diff.h"
#include "diff/diff_baseline.h"
#include "diff/diff_fail.h"
#include "tools/alloc.h"

struct diff_opts {
	bool json, md;
	const char *junit, *html, *baseline, *base_commit, *new_commit;
	struct option_list fail_on;
	size_t seed;
	int run;
	struct symbol_options symbols;
};

static const struct option_row rows[] = {
	{ "json", 'j', OPT_FLAG, offsetof(struct diff_opts, json), NULL,
	  "everything, for programs (schema gpushim.diff/1)", 0, 0 },
	{ "md", 'm', OPT_FLAG, offsetof(struct diff_opts, md), NULL, "a comment for a pull request, in Markdown", 0,
	  0 },
	{ "junit", 'u', OPT_TEXT, offsetof(struct diff_opts, junit), "FILE",
	  "JUnit's XML, a test for each row; - is standard output", 0, 0 },
	{ "html", 'H', OPT_TEXT, offsetof(struct diff_opts, html), "FILE",
	  "a page for a browser, both sides beside each other; - is standard output", 0, 0 },
	{ "fail-on", 'f', OPT_LIST, offsetof(struct diff_opts, fail_on), "RULE",
	  "exit with 1 only where that row got worse by more: 'idle>+2%', 'input-storage>+5ms'; several with commas, or "
	  "given again",
	  0, 0 },
	{ "baseline", 'b', OPT_TEXT, offsetof(struct diff_opts, baseline), "FILE",
	  "base is what `report --save-baseline` kept; all paths are new", 0, 0 },
	{ "base-commit", 0, OPT_TEXT, offsetof(struct diff_opts, base_commit), "ID",
	  "what base was built of, to be told", 0, 0 },
	{ "new-commit", 0, OPT_TEXT, offsetof(struct diff_opts, new_commit), "ID", "… and new", 0, 0 },
	{ "seed", 0, OPT_COUNT, offsetof(struct diff_opts, seed), "N",
	  "of the random numbers that errors are found with (1): the same gives the same", 0, OPTION_ANY },
	{ "symbols", 'S', OPT_TEXT, offsetof(struct diff_opts, symbols.folder), "DIR",
	  "look for debug files there before /usr/lib/debug: DIR/.build-id/ab/cdef.debug", 0, 0 },
	{ "debuginfod", 'd', OPT_FLAG, offsetof(struct diff_opts, symbols.debuginfod), NULL,
	  "fetch debug files from the servers of $DEBUGINFOD_URLS", 0, 0 },
	{ "run", 'r', OPT_RUN, offsetof(struct diff_opts, run), "N|all",
	  "of several runs in a directory (the last); all: each is a run of its side", 0, 0 },
};

const struct option_set cmd_diff_options = {
	.usage =
		"BASE... -- NEW... [options]\n"
		"       gpushim diff BASE NEW [options]\n"
		"       gpushim diff --baseline FILE NEW... [options]\n\n"
		"Did idle time get worse, where, and are we sure: a table, a verdict, an exit status.\n"
		"Each path is a run, as `gpushim report` takes it; several of a side tell how much runs vary by themselves.\n"
		"Exit status: 0 no worse, 1 worse, 2 usage, 3 bad input, 4 system, 5 not sure or not comparable.",
	.rows = rows,
	.n_rows = sizeof(rows) / sizeof(rows[0]),
	.min_paths = 1,
	.max_paths = SIZE_MAX,
	.missing = "no run is named: BASE... -- NEW...",
	.alone = "json md",
};

struct side {
	struct diff_run *runs;
	size_t n, cap;
};

struct job {
	const struct diff_opts *o;
	struct side base, now;
	struct output junit, html;
};

/* ---- reading runs ---- */

struct taking {
	struct diff_run *out;
	const char *path;
	uint64_t seed;
};

static int take(const struct summary *s, const void *arg)
{
	const struct taking *t = arg;
	struct error e;

	return diff_run_of(t->out, s, t->path, t->seed, &e) ? cmd_fail(&e, NULL) : 0;
}

static int refuse_outputs(const struct job *job, const struct run *run)
{
	int status = job->o->junit ? cmd_refuse_recording(run, job->o->junit) : 0;

	return status || !job->o->html ? status : cmd_refuse_recording(run, job->o->html);
}

/* One run; *count: of how many there. */
static int add_run(struct job *job, struct side *to, char *path, int which, int *count)
{
	struct taking t = { .path = path, .seed = job->o->seed };
	struct run run;
	struct error e;
	int status;

	if (!array_room(to->runs, to->n, to->cap)) {
		err_no_memory(&e, NULL);
		return cmd_fail(&e, NULL);
	}
	t.out = &to->runs[to->n++];
	*t.out = (struct diff_run){ 0 };
	if (run_open_folded(&run, &path, 1, which, &e))
		return cmd_fail(&e, NULL);
	*count = run.count;
	if (job->o->run == RUN_LAST)
		cmd_say_run(&run, which);
	run.brief = true;
	status = refuse_outputs(job, &run);
	if (!status)
		status = cmd_analyse(&run, &job->o->symbols, take, &t);
	if (!status) {
		status = cmd_damage(&run);
		if (status == ERR_FORMAT) /* the verdict says so; the other runs may be damaged, too */
			status = 0;
	}
	run_close(&run);
	return status;
}

static int add_path(struct job *job, struct side *to, char *path)
{
	int count = 1, which = job->o->run == RUN_ALL ? 0 : job->o->run;
	int status = add_run(job, to, path, which, &count);

	for (int i = 1; !status && job->o->run == RUN_ALL && i < count; i++)
		status = add_run(job, to, path, i, &count);
	return status;
}

static int add_paths(struct job *job, struct side *to, char *paths[], size_t n)
{
	int status = 0;

	for (size_t i = 0; i < n && !status; i++)
		status = add_path(job, to, paths[i]);
	return status;
}

static int add_baseline(struct job *job)
{
	struct error e;

	return diff_baseline_read(&job->base.runs, &job->base.n, job->o->baseline, &e) ? cmd_fail(&e, NULL) : 0;
}

static void side_free(struct side *s)
{
	for (size_t i = 0; i < s->n; i++)
		diff_run_free(&s->runs[i]);
	free(s->runs);
}

/* ---- the command line ---- */

static const char separator[] = "--";

/* Options may stand behind the "--" between the sides as well: for getopt it is a word like any other. Where it is then; NULL: there is none. */
static const char *hide_separator(int argc, char *argv[])
{
	static char word[sizeof(separator)]; /* "" */

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], separator) == 0)
			return argv[i] = word;
	return NULL;
}

struct sides {
	char **base, **now;
	size_t n_base, n_now;
};

static bool split(struct sides *s, const struct diff_opts *o, char *paths[], size_t n, const char *between)
{
	size_t at = 0;

	while (at < n && paths[at] != between)
		at++;
	if (between && at < n)
		*s = (struct sides){ paths, paths + at + 1, at, n - at - 1 };
	else if (o->baseline)
		*s = (struct sides){ paths, paths, 0, n };
	else
		*s = (struct sides){ paths, paths + 1, 1, n - 1 };
	return o->baseline ? !s->n_base && s->n_now : s->n_base && s->n_now && (between || n == 2);
}

static int usage(const char *what, const char *hint)
{
	struct error e;

	err_set(&e, ERR_USAGE, NULL, ERR_NO_BYTE, "diff: %s", what);
	return cmd_fail(&e, hint);
}

static bool is_standard_output(const char *file)
{
	return file && strcmp(file, "-") == 0;
}

/* Is nothing printed but what a file's option asks for? */
static bool only_files(const struct diff_opts *o)
{
	return is_standard_output(o->junit) || is_standard_output(o->html);
}

static int check(const struct diff_opts *o)
{
	struct error e;

	if (only_files(o) && (o->json || o->md || (is_standard_output(o->junit) && is_standard_output(o->html))))
		return usage("two reports would be written to standard output", "try: --junit FILE, --html FILE");
	if (is_standard_output(o->html) && isatty(STDOUT_FILENO))
		return usage("--html is nothing for a terminal", "name a file, or lead standard output into one");
	if (diff_rules_check(o->fail_on.at, o->fail_on.n, &e))
		return cmd_fail(&e, "try: gpushim help diff");
	return 0;
}

/* ---- what is written ---- */

static void print(const struct diff *d, const struct diff_opts *o)
{
	struct report_style style = cmd_style(STDOUT_FILENO);

	if (only_files(o))
		return;
	if (o->json)
		diff_json(stdout, d);
	else if (o->md)
		diff_md(stdout, d);
	else
		diff_text(stdout, d, &style);
}

static int write_files(const struct diff *d, struct job *job)
{
	int status = 0;

	if (job->o->junit) {
		status = output_open(&job->junit, job->o->junit);
		if (!status) {
			diff_junit(job->junit.file, d);
			status = output_close(&job->junit, 0);
		}
	}
	if (!status && job->o->html) {
		status = output_open(&job->html, job->o->html);
		if (!status) {
			diff_html(job->html.file, d);
			status = output_close(&job->html, 0);
		}
	}
	return status;
}

static int compare(struct job *job)
{
	const struct diff_opts *o = job->o;
	struct diff_options options = { .fail_on = o->fail_on.at,
					.n_fail_on = o->fail_on.n,
					.seed = o->seed,
					.base_commit = o->base_commit,
					.new_commit = o->new_commit };
	struct diff d;
	struct error e;
	int status = diff_make(&d, job->base.runs, job->base.n, job->now.runs, job->now.n, &options, &e)
			     ? cmd_fail(&e, NULL)
			     : 0;

	cmd_progress_clear();
	if (!status) {
		print(&d, o);
		status = write_files(&d, job);
	}
	status = cmd_finish(stdout, "standard output", status);
	if (!status)
		status = diff_status(&d);
	diff_free(&d);
	return status;
}

int cmd_diff(int argc, char *argv[])
{
	struct diff_opts o = { .run = RUN_LAST, .seed = 1 };
	struct job job = { .o = &o };
	const char *between = hide_separator(argc, argv);
	struct sides sides;
	int first, status = cmd_options(&cmd_diff_options, argc, argv, &o, &first);

	if (status >= 0)
		return status;
	if (!split(&sides, &o, argv + first, (size_t)(argc - first), between))
		return usage(o.baseline ? "with --baseline all paths are new"
					: "which runs are base and which are new?",
			     "try: gpushim diff BASE... -- NEW...");
	status = check(&o);
	if (!status)
		status = o.baseline ? add_baseline(&job) : add_paths(&job, &job.base, sides.base, sides.n_base);
	if (!status)
		status = add_paths(&job, &job.now, sides.now, sides.n_now);
	if (!status)
		status = compare(&job);
	side_free(&job.base);
	side_free(&job.now);
	return status;
}
