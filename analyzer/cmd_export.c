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
	const char *chrome;
	bool all;
	int run;
};

static const struct option_row rows[] = {
	{ "chrome", 'c', OPT_TEXT, offsetof(struct export_opts, chrome), "FILE",
	  "a timeline for ui.perfetto.dev and chrome://tracing; *.gz is packed, - is standard output", 0, 0 },
	{ "all", 'a', OPT_FLAG, offsetof(struct export_opts, all), NULL,
	  "every event of a long run, not only those around the longest gaps", 0, 0 },
	{ "run", 'r', OPT_RUN, offsetof(struct export_opts, run), "N|all", "of several runs in a directory (the last)",
	  0, 0 },
};

static const struct option_set options = {
	"PATH... --chrome FILE [options]\n\nThe run as a timeline. PATH: a run directory or a .gst file.",
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

static int write_chrome(const struct summary *s, const void *arg)
{
	const struct export_opts *o = arg;
	bool standard = strcmp(o->chrome, "-") == 0;
	struct error e;
	FILE *out;
	uint64_t left_out = 0;
	int status;

	if (!standard && is_recording(s->run, o->chrome)) {
		err_set(&e, ERR_USAGE, o->chrome, ERR_NO_BYTE, "is part of the recording; choose another name");
		return cmd_fail(&e, NULL);
	}
	out = standard ? stdout : create(o->chrome);
	if (!out) {
		err_set(&e, ERR_SYSTEM, o->chrome, ERR_NO_BYTE, "cannot write: %s", strerror(errno));
		return cmd_fail(&e, NULL);
	}
	status = export_chrome(out, s, o->all, &left_out, &e) ? cmd_fail(&e, NULL) : 0;
	status = cmd_finish(out, standard ? "standard output" : o->chrome, status);
	if (!status && left_out)
		fprintf(stderr,
			"gpushim: %" PRIu64
			" events that are not near the longest gaps were left out; --all writes them too\n",
			left_out);
	return status;
}

int cmd_export(int argc, char *argv[])
{
	struct export_opts o = { .run = RUN_LAST };
	struct run run;
	struct error e;
	int first, status = cmd_options(&options, argc, argv, &o, &first);

	if (status >= 0)
		return status;
	if (!o.chrome) {
		err_set(&e, ERR_USAGE, NULL, ERR_NO_BYTE, "export: no format is named");
		return cmd_fail(&e, "try: gpushim export PATH --chrome trace.json");
	}
	if (run_open(&run, argv + first, (size_t)(argc - first), o.run, &e))
		return cmd_fail(&e, NULL);
	cmd_say_run(&run, o.run);
	status = cmd_analyse(&run, write_chrome, &o);
	if (!status)
		status = cmd_damage(&run);
	run_close(&run);
	return status;
}
