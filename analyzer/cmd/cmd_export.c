/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_export.c: the run in a form that other tools show. */
#include "cmd.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cmd_output.h"
#include "export/export.h"

enum format_id {
#define FORMAT(name, letter, binary, help) FORMAT_##name,
#include "cmd_export.def"
#undef FORMAT
	FORMAT_COUNT
};

struct export_opts {
	const char *to[FORMAT_COUNT];
	bool all;
	int run;
	struct symbol_options symbols;
};

static const struct option_row rows[] = {
#define FORMAT(name, letter, binary, help) \
	{ #name, letter, OPT_TEXT, offsetof(struct export_opts, to[FORMAT_##name]), "FILE", help, 0, 0 },
#include "cmd_export.def"
#undef FORMAT
	{ "all", 'a', OPT_FLAG, offsetof(struct export_opts, all), NULL,
	  "every event of a long run; else, beside all idle time, those around the longest gaps and in the worst steps",
	  0, 0 },
	{ "symbols", 'S', OPT_TEXT, offsetof(struct export_opts, symbols.folder), "DIR",
	  "look for debug files there before /usr/lib/debug: DIR/.build-id/ab/cdef.debug", 0, 0 },
	{ "debuginfod", 'd', OPT_FLAG, offsetof(struct export_opts, symbols.debuginfod), NULL,
	  "fetch debug files from the servers of $DEBUGINFOD_URLS", 0, 0 },
	{ "run", 'r', OPT_RUN, offsetof(struct export_opts, run), "N|all", "of several runs in a directory (the last)",
	  0, 0 },
};

const struct option_set cmd_export_options = {
	.usage =
		"PATH... --FORMAT FILE [options]\n\nThe run for other tools, in one form or several.\n"
		"PATH: a run directory, a .gst file, an archive (.gpk), a Kineto trace (.json, .json.gz), an export of Nsight\n"
		"Systems (.sqlite), or a directory with those of a job's ranks.",
	.rows = rows,
	.n_rows = sizeof(rows) / sizeof(rows[0]),
	.min_paths = 1,
	.max_paths = SIZE_MAX,
};

/* ---- the forms ---- */

static enum err_kind write_chrome(struct output *to, const struct summary *s, bool all, uint64_t *left_out,
				  struct error *e)
{
	return export_chrome(to->file, s, all, left_out, e);
}

static enum err_kind write_perfetto(struct output *to, const struct summary *s, bool all, uint64_t *left_out,
				    struct error *e)
{
	return export_perfetto(to->file, s, all, left_out, e);
}

static enum err_kind write_folded(struct output *to, const struct summary *s, bool all, uint64_t *left_out,
				  struct error *e)
{
	(void)all;
	(void)left_out;
	return export_folded(to->file, s, e);
}

static enum err_kind write_metrics(struct output *to, const struct summary *s, bool all, uint64_t *left_out,
				   struct error *e)
{
	(void)all;
	(void)left_out;
	(void)e;
	export_metrics(to->file, s);
	return ERR_NONE;
}

static enum err_kind write_sqlite(struct output *to, const struct summary *s, bool all, uint64_t *left_out,
				  struct error *e)
{
	const char *path = output_path(to, e);

	return path ? export_sqlite(path, to->scratch ? path : to->name, s, all, left_out, e) : ERR_SYSTEM;
}

/* Write errors stay in the output's FILE. *left_out: events that were not written. */
static const struct format {
	const char *name;
	bool binary;
	enum err_kind (*write)(struct output *to, const struct summary *s, bool all, uint64_t *left_out,
			       struct error *e);
} formats[] = {
#define FORMAT(name, letter, binary, help) { #name, binary, write_##name },
#include "cmd_export.def"
#undef FORMAT
};

/* ---- where they go ---- */

static int say_one_place(size_t first, size_t second, const char *place)
{
	struct error e;

	err_set(&e, ERR_USAGE, NULL, ERR_NO_BYTE, "export: --%s and --%s would be written to one place, %s",
		formats[first].name, formats[second].name, place);
	return cmd_fail(&e, "name another for one of them");
}

/* What the options ask for can be done, as far as they alone tell. */
static int check(const struct export_opts *o)
{
	struct error e;
	bool any = false;

	for (size_t i = 0; i < FORMAT_COUNT; i++) {
		if (!o->to[i])
			continue;
		any = true;
		for (size_t k = 0; k < i; k++)
			if (o->to[k] && strcmp(o->to[i], o->to[k]) == 0)
				return say_one_place(k, i, o->to[i]);
		if (formats[i].binary && strcmp(o->to[i], "-") == 0 && isatty(STDOUT_FILENO)) {
			err_set(&e, ERR_USAGE, NULL, ERR_NO_BYTE, "export: --%s is nothing for a terminal",
				formats[i].name);
			return cmd_fail(&e, "name a file, or lead standard output into one");
		}
	}
	if (any)
		return 0;
	err_set(&e, ERR_USAGE, NULL, ERR_NO_BYTE, "export: no format is named");
	return cmd_fail(&e, "try: gpushim export PATH --chrome trace.json");
}

struct job {
	const struct export_opts *o;
	struct output *outputs;
};

/* Before the work is done: a long one shall not be for nothing. */
static int open_all(const struct job *job, const struct run *run)
{
	int status = 0;

	for (size_t i = 0; i < FORMAT_COUNT && !status; i++) {
		const char *path = job->o->to[i];

		status = path ? cmd_refuse_recording(run, path) : 0;
		if (path && !status)
			status = output_open(&job->outputs[i], path);
		for (size_t k = 0; k < i && path && !status; k++) /* two names of one file */
			if (output_same(&job->outputs[k], &job->outputs[i]))
				status = say_one_place(k, i, path);
	}
	return status;
}

static int write_one(const struct summary *s, const struct format *f, struct output *to, bool all)
{
	struct error e;
	uint64_t left_out = 0;
	enum err_kind kind = f->write(to, s, all, &left_out, &e);
	int status;

	cmd_progress_clear();
	status = kind ? cmd_fail(&e, NULL) : 0;
	status = output_close(to, status);
	if (!status && left_out)
		fprintf(stderr,
			"gpushim: %" PRIu64
			" events that are not near the longest gaps were left out; --all writes them too\n",
			left_out);
	return status;
}

static int write_all(const struct summary *s, const void *arg)
{
	const struct job *job = arg;
	int status = 0;

	for (size_t i = 0; i < FORMAT_COUNT && !status; i++)
		if (job->outputs[i].file)
			status = write_one(s, &formats[i], &job->outputs[i], job->o->all);
	return status;
}

static int export_run(const struct run *run, const struct export_opts *o)
{
	struct output outputs[FORMAT_COUNT] = { 0 };
	struct job job = { o, outputs };
	int status = open_all(&job, run);

	if (o->to[FORMAT_sqlite])
		cmd_progress_tables();
	if (!status)
		status = cmd_analyse(run, &o->symbols, write_all, &job);
	for (size_t i = 0; i < FORMAT_COUNT; i++) /* those that were not written: after an error */
		output_close(&outputs[i], status);
	return status;
}

int cmd_export(int argc, char *argv[])
{
	struct export_opts o = { .run = RUN_LAST };
	struct run run;
	struct error e;
	int first, status = cmd_options(&cmd_export_options, argc, argv, &o, &first);

	if (status >= 0)
		return status;
	status = check(&o);
	if (status)
		return status;
	if (run_open(&run, argv + first, (size_t)(argc - first), o.run, &e))
		return cmd_fail(&e, NULL);
	cmd_say_run(&run, o.run);
	status = export_run(&run, &o);
	if (!status)
		status = cmd_damage(&run);
	run_close(&run);
	return status;
}
