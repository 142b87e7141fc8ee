/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_report.c: how long each device was idle, and why. */
#include "cmd.h"

#include <stdlib.h>

#define GAPS_SHOWN 6
#define NO_NUMBER SIZE_MAX

struct report_opts {
	bool json;
	size_t why, top;
	int run;
};

static const struct option_row rows[] = {
	{ "json", 'j', OPT_FLAG, offsetof(struct report_opts, json), NULL,
	  "everything, for programs (schema gpushim.report/1)", 0, 0 },
	{ "why", 'w', OPT_COUNT, offsetof(struct report_opts, why), "N", "the whole story of gap N", 0, OPTION_ANY },
	{ "top", 'n', OPT_COUNT, offsetof(struct report_opts, top), "N", "list the N longest gaps (6; with --json all)",
	  0, OPTION_ANY },
	{ "run", 'r', OPT_RUN, offsetof(struct report_opts, run), "N|all", "of several runs in a directory (the last)",
	  0, 0 },
};

static const struct option_set options = {
	"PATH... [options]\n\nHow long each device was idle, and why. PATH: a run directory or a .gst file.", rows,
	sizeof(rows) / sizeof(rows[0]), 1, SIZE_MAX, NULL, false
};

static enum err_kind print(const struct summary *s, const struct report_opts *o, struct error *e)
{
	const struct report_style style = cmd_style();

	if (o->json)
		return report_json(stdout, s, o->top == NO_NUMBER ? REPORT_ALL : o->top, e);
	if (o->why != NO_NUMBER)
		return report_why(stdout, s, &style, o->why, e);
	return report_text(stdout, s, &style, o->top == NO_NUMBER ? GAPS_SHOWN : o->top, e);
}

static enum err_kind report(const struct run *run, const struct report_opts *o, struct error *e)
{
	struct timeline timeline;
	struct summary summary;
	enum err_kind kind = timeline_build(&timeline, run, e);

	if (kind)
		return kind;
	kind = summary_build(&summary, &timeline, e);
	if (!kind) {
		kind = print(&summary, o, e);
		summary_free(&summary);
	}
	timeline_free(&timeline);
	return kind;
}

int cmd_report(int argc, char *argv[])
{
	struct report_opts o = { .why = NO_NUMBER, .top = NO_NUMBER, .run = RUN_LAST };
	struct run run;
	struct error e;
	int first, status = cmd_options(&options, argc, argv, &o, &first);

	if (status >= 0)
		return status;
	if (run_open(&run, argv + first, (size_t)(argc - first), o.run, &e))
		return cmd_fail(&e, NULL);
	cmd_say_run(&run, o.run);
	status = report(&run, &o, &e) ? cmd_fail(&e, NULL) : 0;
	status = cmd_finish(stdout, "standard output", status);
	if (!status)
		status = cmd_damage(&run);
	run_close(&run);
	return status;
}
