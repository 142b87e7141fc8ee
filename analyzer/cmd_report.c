/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_report.c: how long each device was idle, and why. */
#include "cmd.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define NO_NUMBER SIZE_MAX

struct report_opts {
	bool json, steps, full, advice, trust;
	size_t why, top;
	const char *html;
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
	  "a page that a browser shows, one file without any other", 0, 0 },
	{ "why", 'w', OPT_COUNT, offsetof(struct report_opts, why), "N", "the whole story of gap N", 0, OPTION_ANY },
	{ "steps", 's', OPT_FLAG, offsetof(struct report_opts, steps), NULL, "every step of the training loop", 0, 0 },
	{ "top", 'n', OPT_COUNT, offsetof(struct report_opts, top), "N",
	  "list the N longest gaps (5; with --full 8, with --json all)", 0, OPTION_ANY },
	{ "symbols", 'S', OPT_TEXT, offsetof(struct report_opts, symbols.folder), "DIR",
	  "look for debug files there before /usr/lib/debug: DIR/.build-id/ab/cdef.debug", 0, 0 },
	{ "debuginfod", 'd', OPT_FLAG, offsetof(struct report_opts, symbols.debuginfod), NULL,
	  "fetch debug files from the servers of $DEBUGINFOD_URLS", 0, 0 },
	{ "run", 'r', OPT_RUN, offsetof(struct report_opts, run), "N|all", "of several runs in a directory (the last)",
	  0, 0 },
};

static const struct option_set options = {
	"PATH... [options]\n\nHow long each device was idle, and why. PATH: a run directory or a .gst file.",
	rows,
	sizeof(rows) / sizeof(rows[0]),
	1,
	SIZE_MAX,
	NULL,
	false
};

static int html(const struct summary *s, const char *path)
{
	FILE *out = fopen(path, "we");
	struct error e;

	if (!out) {
		err_set(&e, ERR_SYSTEM, path, ERR_NO_BYTE, "cannot write: %s", strerror(errno));
		return cmd_fail(&e, NULL);
	}
	return cmd_finish(out, path, report_html(out, s, &e) ? cmd_fail(&e, NULL) : 0);
}

static int print(const struct summary *s, const void *arg)
{
	const struct report_opts *o = arg;
	struct report_style style = cmd_style(STDOUT_FILENO);
	size_t usual = o->full ? REPORT_GAPS_FULL : REPORT_GAPS;
	struct error e;
	enum err_kind kind;

	if (o->html)
		return html(s, o->html);
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
		kind = report_text(stdout, s, &style, o->top == NO_NUMBER ? usual : o->top, &e);
	return kind ? cmd_fail(&e, NULL) : 0;
}

int cmd_report(int argc, char *argv[])
{
	struct report_opts o = { .why = NO_NUMBER, .top = NO_NUMBER, .run = RUN_LAST };
	struct run run;
	struct error e;
	int first, status = cmd_options(&options, argc, argv, &o, &first);

	if (status >= 0)
		return status;
	if (o.json && o.why != NO_NUMBER) {
		err_set(&e, ERR_USAGE, NULL, ERR_NO_BYTE, "report: --why is for people, --json has every gap's story");
		return cmd_fail(&e, NULL);
	}
	if (o.steps && (o.json || o.why != NO_NUMBER)) {
		err_set(&e, ERR_USAGE, NULL, ERR_NO_BYTE,
			"report: --steps is a page of its own; --json has every step");
		return cmd_fail(&e, NULL);
	}
	if (run_open(&run, argv + first, (size_t)(argc - first), o.run, &e))
		return cmd_fail(&e, NULL);
	cmd_say_run(&run, o.run);
	status = cmd_analyse(&run, &o.symbols, print, &o);
	status = cmd_finish(stdout, "standard output", status);
	if (!status)
		status = cmd_damage(&run);
	run_close(&run);
	return status;
}
