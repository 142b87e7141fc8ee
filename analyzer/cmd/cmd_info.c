/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_info.c: what was recorded, what was lost, whether it can be trusted. */
#include "cmd.h"

#include <unistd.h>

struct info_opts {
	int run;
};

static const struct option_row rows[] = {
	{ "run", 'r', OPT_RUN, offsetof(struct info_opts, run), "N|all", "of several runs in a directory (all)", 0, 0 },
};

const struct option_set cmd_info_options = {
	.usage =
		"PATH... [options]\n\nWhat each file holds, what was lost, whether it can be trusted.\n"
		"PATH: a run directory, a .gst file, an archive (.gpk), a Kineto trace (.json, .json.gz), an export of Nsight\n"
		"Systems (.sqlite), or a directory with those of a job's ranks.",
	.rows = rows,
	.n_rows = sizeof(rows) / sizeof(rows[0]),
	.min_paths = 1,
	.max_paths = SIZE_MAX,
};

int cmd_info(int argc, char *argv[])
{
	struct info_opts o = { .run = RUN_ALL };
	const struct report_style style = cmd_style(STDOUT_FILENO);
	struct run run;
	struct error e;
	int first, status = cmd_options(&cmd_info_options, argc, argv, &o, &first);

	if (status >= 0)
		return status;
	cmd_progress_read_only();
	if (run_open_any(&run, argv + first, (size_t)(argc - first), o.run, &e))
		return cmd_fail(&e, NULL);
	cmd_progress_clear();
	status = 0;
	if (run.count > 1) {
		report_runs(stdout, &run, &style);
		fputc('\n', stdout);
	}
	for (size_t i = 0; i < run.n_traces && !status; i++) {
		if (i)
			fputc('\n', stdout);
		if (report_info(stdout, run.traces[i], &style, &e))
			status = cmd_fail(&e, NULL);
	}
	for (size_t i = 0; i < run.n_hosts && !status; i++) {
		if (i || run.n_traces)
			fputc('\n', stdout);
		report_info_host(stdout, run.hosts[i], &style);
	}
	status = cmd_finish(stdout, "standard output", status);
	if (!status)
		status = cmd_damage(&run);
	run_close(&run);
	return status;
}
