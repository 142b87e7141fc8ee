/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_export.c: the run in a form that other tools show. */
#include "cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "export.h"
#include "gzip.h"

struct export_opts {
	const char *chrome, *folded;
	bool all;
	int run;
	struct symbol_options symbols;
};

static const struct option_row rows[] = {
	{ "chrome", 'c', OPT_TEXT, offsetof(struct export_opts, chrome), "FILE",
	  "a timeline for ui.perfetto.dev and chrome://tracing; *.gz is packed, - is standard output", 0, 0 },
	{ "folded", 'f', OPT_TEXT, offsetof(struct export_opts, folded), "FILE",
	  "idle nanoseconds by stack, the cause innermost, for flamegraph.pl, inferno and speedscope", 0, 0 },
	{ "all", 'a', OPT_FLAG, offsetof(struct export_opts, all), NULL,
	  "every event of a long run, not only those around the longest gaps", 0, 0 },
	{ "symbols", 'S', OPT_TEXT, offsetof(struct export_opts, symbols.folder), "DIR",
	  "look for debug files there before /usr/lib/debug: DIR/.build-id/ab/cdef.debug", 0, 0 },
	{ "debuginfod", 'd', OPT_FLAG, offsetof(struct export_opts, symbols.debuginfod), NULL,
	  "fetch debug files from the servers of $DEBUGINFOD_URLS", 0, 0 },
	{ "run", 'r', OPT_RUN, offsetof(struct export_opts, run), "N|all", "of several runs in a directory (the last)",
	  0, 0 },
};

static const struct option_set options = {
	"PATH... --chrome FILE | --folded FILE [options]\n\nThe run for other tools. PATH: a run directory or a .gst file.",
	rows,
	sizeof(rows) / sizeof(rows[0]),
	1,
	SIZE_MAX,
	NULL,
	false
};

/* Is the file to be written one of those that are being read? */
static bool is_recording(const struct run *run, const char *path)
{
	struct stat to, from;

	if (stat(path, &to) != 0)
		return false;
	for (size_t i = 0; i < run->n_traces; i++)
		if (stat(run->traces[i]->path, &from) == 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino)
			return true;
	return false;
}

static FILE *create(const char *path)
{
	size_t n = strlen(path);

	return n > 3 && strcmp(path + n - 3, ".gz") == 0 ? gzip_create(path) : fopen(path, "we");
}

static int write_to(const char *path, const struct summary *s, const struct export_opts *o,
		    enum err_kind (*write)(FILE *out, const struct summary *s, const struct export_opts *o,
					   uint64_t *left_out, struct error *e))
{
	bool standard = strcmp(path, "-") == 0;
	struct error e;
	FILE *out;
	uint64_t left_out = 0;
	int status;

	if (!standard && is_recording(s->run, path)) {
		err_set(&e, ERR_USAGE, path, ERR_NO_BYTE, "is part of the recording; choose another name");
		return cmd_fail(&e, NULL);
	}
	out = standard ? stdout : create(path);
	if (!out) {
		err_set(&e, ERR_SYSTEM, path, ERR_NO_BYTE, "cannot write: %s", strerror(errno));
		return cmd_fail(&e, NULL);
	}
	status = write(out, s, o, &left_out, &e) ? cmd_fail(&e, NULL) : 0;
	status = cmd_finish(out, standard ? "standard output" : path, status);
	if (!status && left_out)
		fprintf(stderr,
			"gpushim: %" PRIu64
			" events that are not near the longest gaps were left out; --all writes them too\n",
			left_out);
	return status;
}

static enum err_kind write_chrome(FILE *out, const struct summary *s, const struct export_opts *o, uint64_t *left_out,
				  struct error *e)
{
	return export_chrome(out, s, o->all, left_out, e);
}

static enum err_kind write_folded(FILE *out, const struct summary *s, const struct export_opts *o, uint64_t *left_out,
				  struct error *e)
{
	(void)o;
	(void)left_out;
	return export_folded(out, s, e);
}

static int write_all(const struct summary *s, const void *arg)
{
	const struct export_opts *o = arg;
	int status = o->chrome ? write_to(o->chrome, s, o, write_chrome) : 0;

	return o->folded && !status ? write_to(o->folded, s, o, write_folded) : status;
}

int cmd_export(int argc, char *argv[])
{
	struct export_opts o = { .run = RUN_LAST };
	struct run run;
	struct error e;
	int first, status = cmd_options(&options, argc, argv, &o, &first);

	if (status >= 0)
		return status;
	if (!o.chrome && !o.folded) {
		err_set(&e, ERR_USAGE, NULL, ERR_NO_BYTE, "export: no format is named");
		return cmd_fail(&e, "try: gpushim export PATH --chrome trace.json");
	}
	if (o.chrome && o.folded && strcmp(o.chrome, o.folded) == 0) {
		err_set(&e, ERR_USAGE, NULL, ERR_NO_BYTE, "export: both forms would be written to one place, %s",
			o.chrome);
		return cmd_fail(&e, "name another for one of them");
	}
	if (run_open(&run, argv + first, (size_t)(argc - first), o.run, &e))
		return cmd_fail(&e, NULL);
	cmd_say_run(&run, o.run);
	status = cmd_analyse(&run, &o.symbols, write_all, &o);
	if (!status)
		status = cmd_damage(&run);
	run_close(&run);
	return status;
}
