/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_report.c: how long each device was idle, and why. */
#include "cmd.h"

#include <string.h>
#include <unistd.h>

#include "cmd_output.h"
#include "diff/diff_baseline.h"

#define NO_NUMBER SIZE_MAX
#define BASELINE_SEED 1 /* as `diff` has it where none is given */

struct report_opts {
	bool json, steps, full, advice, trust;
	size_t why, top;
	const char *html, *baseline;
	int run;
	struct symbol_options symbols;
};

static const struct option_row rows[] = {
	{ "full", 'f', OPT_FLAG, offsetof(struct report_opts, full), NULL,
	  "all of it, not only what fits one screen: each kind of copy, every cause, more call sites and gaps", 0, 0 },
	{ "advice", 'a', OPT_FLAG, offsetof(struct report_opts, advice), NULL,
	  "what to do, in full: why, by which evidence, what bounds it then", 0, 0 },
	{ "trust", 't', OPT_FLAG, offsetof(struct report_opts, trust), NULL,
	  "how far to trust the report, in full: losses, bounds, what was not recorded, our own cost", 0, 0 },
	{ "json", 'j', OPT_FLAG, offsetof(struct report_opts, json), NULL,
	  "everything, for programs (schema gpushim.report/1)", 0, 0 },
	{ "html", 'H', OPT_TEXT, offsetof(struct report_opts, html), "FILE",
	  "a page for a browser, in one file; - is standard output", 0, 0 },
	{ "save-baseline", 'b', OPT_TEXT, offsetof(struct report_opts, baseline), "FILE",
	  "what `diff --baseline FILE` compares later runs with; small", 0, 0 },
	{ "why", 'w', OPT_COUNT, offsetof(struct report_opts, why), "N", "the whole story of gap N", 0, OPTION_ANY },
	{ "steps", 's', OPT_FLAG, offsetof(struct report_opts, steps), NULL, "every step of the training loop", 0, 0 },
	{ "top", 'n', OPT_COUNT, offsetof(struct report_opts, top), "N",
	  "list the N longest gaps (5, of many devices 3; with --full 8, with --json all)", 0, OPTION_ANY },
	{ "symbols", 'S', OPT_TEXT, offsetof(struct report_opts, symbols.folder), "DIR",
	  "look for debug files there before /usr/lib/debug: DIR/.build-id/ab/cdef.debug", 0, 0 },
	{ "debuginfod", 'd', OPT_FLAG, offsetof(struct report_opts, symbols.debuginfod), NULL,
	  "fetch debug files from the servers of $DEBUGINFOD_URLS", 0, 0 },
	{ "run", 'r', OPT_RUN, offsetof(struct report_opts, run), "N|all", "of several runs in a directory (the last)",
	  0, 0 },
};

const struct option_set cmd_report_options = {
	.usage =
		"PATH... [options]\n\n"
		"How long each device was idle, and why: one screen; --html FILE for a page, others for the rest.\n"
		"PATH: a run directory, a .gst file, an archive (.gpk), a Kineto trace (.json, .json.gz), an export of Nsight\n"
		"Systems (.sqlite), or a directory with those of a job's ranks.",
	.rows = rows,
	.n_rows = sizeof(rows) / sizeof(rows[0]),
	.min_paths = 1,
	.max_paths = SIZE_MAX,
	.alone = "json why steps full advice trust",
};

struct job {
	const struct report_opts *o;
	const char *path; /* as the run was named */
	struct output page, baseline;
};

/* Is nothing but files asked for? */
static bool only_page(const struct report_opts *o)
{
	return (o->html || o->baseline) && !o->json && !o->steps && !o->full && !o->advice && !o->trust &&
	       o->why == NO_NUMBER;
}

/* Are calls and operations shown by themselves? */
static bool shows_each(const struct report_opts *o)
{
	return o->html || o->why != NO_NUMBER;
}

static int print_text(const struct summary *s, const struct report_opts *o)
{
	struct report_style style = cmd_style(STDOUT_FILENO);
	struct error e;
	enum err_kind kind;

	style.full = o->full;
	if (o->steps || o->trust) {
		(o->steps ? report_steps : report_trust_page)(stdout, s, &style);
		return 0;
	}
	if (o->json)
		kind = report_json(stdout, s, o->top == NO_NUMBER ? REPORT_ALL : o->top, &e);
	else if (o->why != NO_NUMBER)
		kind = report_why(stdout, s, &style, o->why, &e);
	else if (o->advice)
		kind = report_advice_page(stdout, s, &style, &e);
	else
		kind = report_text(stdout, s, &style, o->top == NO_NUMBER ? REPORT_GAPS : o->top, &e);
	return kind ? cmd_fail(&e, NULL) : 0;
}

static int save_baseline(const struct summary *s, struct job *job)
{
	struct diff_run run;
	struct error e;
	bool failed = diff_run_of(&run, s, job->path, BASELINE_SEED, &e) ||
		      diff_baseline_write(job->baseline.file, &run, 1, &e);
	int status = failed ? cmd_fail(&e, NULL) : 0;

	diff_run_free(&run);
	/* what is damaged can never be compared */
	return output_close(&job->baseline, status ? status : cmd_damage(s->run));
}

static int print(const struct summary *s, const void *arg)
{
	struct job *job = (struct job *)(uintptr_t)arg;
	int status = only_page(job->o) ? 0 : print_text(s, job->o);
	struct error e;

	if (!status && job->o->html) {
		status = report_html(job->page.file, s, &e) ? cmd_fail(&e, NULL) : 0;
		cmd_progress_clear();
		status = output_close(&job->page, status);
	}
	if (!status && job->o->baseline)
		status = save_baseline(s, job);
	return status;
}

/* What the options ask for can be done, as far as they alone tell. */
static int check(const struct report_opts *o)
{
	bool page = o->html && strcmp(o->html, "-") == 0, baseline = o->baseline && strcmp(o->baseline, "-") == 0;
	struct error e;

	if (!page && !baseline)
		return 0;
	if (!only_page(o) || (page && baseline)) {
		err_set(&e, ERR_USAGE, NULL, ERR_NO_BYTE, "report: two reports would be written to standard output");
		return cmd_fail(&e, page ? "try: --html FILE" : "try: --save-baseline FILE");
	}
	if (page && isatty(STDOUT_FILENO)) {
		err_set(&e, ERR_USAGE, NULL, ERR_NO_BYTE, "report: --html is nothing for a terminal");
		return cmd_fail(&e, "name a file, or lead standard output into one");
	}
	return 0;
}

static int report_run(const struct run *run, const struct report_opts *o, const char *path)
{
	struct job job = { .o = o, .path = path };
	int status = o->html ? cmd_refuse_recording(run, o->html) : 0;

	if (!status && o->baseline)
		status = cmd_refuse_recording(run, o->baseline);
	if (!status && o->html)
		status = output_open(&job.page, o->html);
	if (!status && o->baseline)
		status = output_open(&job.baseline, o->baseline);
	if (!status)
		status = cmd_analyse(run, &o->symbols, print, &job);
	if (job.page.file) /* it was not come to */
		status = output_close(&job.page, status);
	if (job.baseline.file)
		status = output_close(&job.baseline, status);
	return status;
}

int cmd_report(int argc, char *argv[])
{
	struct report_opts o = { .why = NO_NUMBER, .top = NO_NUMBER, .run = RUN_LAST };
	struct run run;
	struct error e;
	int first, status = cmd_options(&cmd_report_options, argc, argv, &o, &first);

	if (status >= 0)
		return status;
	status = check(&o);
	if (status)
		return status;
	if (o.html)
		cmd_progress_page();
	if ((shows_each(&o) ? run_open : run_open_folded)(&run, argv + first, (size_t)(argc - first), o.run, &e))
		return cmd_fail(&e, NULL);
	cmd_say_run(&run, o.run);
	run.brief = !o.json && !o.html;
	status = report_run(&run, &o, argv[first]);
	status = cmd_finish(stdout, "standard output", status);
	if (!status)
		status = cmd_damage(&run);
	run_close(&run);
	return status;
}
