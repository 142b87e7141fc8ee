/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/kernels_name.h"
#include "run/stacks_name.h"
#include "tools/pool.h"
#include "tools/text.h"

static struct sigaction pipe_action; /* of SIGPIPE, as it came to us */

void cmd_signals_start(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGPIPE, &ignore, &pipe_action);
}

void cmd_signals_restore(void)
{
	sigaction(SIGPIPE, &pipe_action, NULL);
}

int cmd_fail(const struct error *e, const char *hint)
{
	char file[512], text[256];

	cmd_progress_clear();
	fputs("gpushim: ", stderr);
	if (e->file[0])
		fprintf(stderr, "%s: ", text_clean(file, sizeof(file), e->file, sizeof(file)));
	if (err_has_byte(e))
		fprintf(stderr, "byte %" PRIu64 ": ", e->byte);
	fprintf(stderr, "%s\n", text_clean(text, sizeof(text), e->text, sizeof(text)));
	if (hint)
		fprintf(stderr, "%s\n", hint);
	return e->kind;
}

int cmd_refuse(enum err_kind kind, const char *file, const char *why, const char *hint)
{
	struct error e;

	err_set(&e, kind, file, ERR_NO_BYTE, "%s", why);
	return cmd_fail(&e, hint);
}

int cmd_options(const struct option_set *set, int argc, char *argv[], void *values, int *first)
{
	char help[4096], hint[64];
	struct error e;
	int wants_help;

	if (options_parse(set, argc, argv, values, first, &wants_help, &e)) {
		snprintf(hint, sizeof(hint), "try: gpushim %s --help", argv[0]);
		return cmd_fail(&e, hint);
	}
	if (!wants_help)
		return -1;
	options_help(set, argv[0], help, sizeof(help));
	fputs(help, stdout);
	return cmd_finish(stdout, "standard output", 0);
}

void cmd_say_run(const struct run *run, int which)
{
	cmd_progress_clear();
	if (run->count > 1 && which == RUN_LAST)
		fprintf(stderr,
			"gpushim: there are %d runs here; this is the last, number %d (--run N or --run all for others)\n",
			run->count, run->index);
	else if (run->count > 1 && which == RUN_ALL)
		fprintf(stderr, "gpushim: there are %d runs here, taken as one: the time between them counts as idle\n",
			run->count);
}

/* Of one in an archive, that of the archive. */
static int stat_recording(const char *name, struct stat *st)
{
	int rc = stat(name, st);
	char *archive;

	if (rc == 0 || errno != ENOTDIR)
		return rc;
	archive = strndup(name, (size_t)(text_base(name) - name));
	for (size_t n = archive ? strlen(archive) : 0; n && archive[n - 1] == '/';)
		archive[--n] = 0;
	rc = archive ? stat(archive, st) : -1;
	free(archive);
	return rc;
}

int cmd_refuse_recording(const struct run *run, const char *path)
{
	struct stat to, from;
	struct error e;

	if (strcmp(path, "-") == 0 || stat(path, &to) != 0)
		return 0;
	for (size_t i = 0; i < run->n_traces + run->n_hosts; i++) {
		const char *name = i < run->n_traces ? run->traces[i]->path : run->hosts[i - run->n_traces]->path;

		if (stat_recording(name, &from) != 0 || from.st_dev != to.st_dev || from.st_ino != to.st_ino)
			continue;
		err_set(&e, ERR_USAGE, path, ERR_NO_BYTE, "is part of the recording; choose another name");
		return cmd_fail(&e, NULL);
	}
	return 0;
}

int cmd_damage(const struct run *run)
{
	int status = 0;

	for (size_t i = 0; i < run->n_traces; i++) {
		if (run->traces[i]->damage.kind)
			status = cmd_fail(&run->traces[i]->damage, NULL) == ERR_SYSTEM ? ERR_SYSTEM : ERR_FORMAT;
	}
	for (size_t i = 0; i < run->n_hosts; i++) {
		if (run->hosts[i]->damage.kind)
			status = cmd_fail(&run->hosts[i]->damage, NULL) == ERR_SYSTEM ? ERR_SYSTEM : ERR_FORMAT;
	}
	for (size_t i = 0; i < run->n_missing; i++) {
		struct error e;

		err_set(&e, ERR_FORMAT, NULL, ERR_NO_BYTE, "%s", run->missing[i].text);
		status = status ? status : ERR_FORMAT;
		cmd_fail(&e, NULL);
	}
	return status;
}

struct analysis {
	struct summary *summary;
	struct timeline *timeline;
};

/* To give many pages back takes a while: two threads do. */
enum { FREE_SUMMARY, FREE_TIMELINE, FREES };

static enum err_kind free_one(void *analysis, size_t which, struct error *e)
{
	const struct analysis *a = analysis;

	(void)e;
	if (which == FREE_TIMELINE)
		timeline_free(a->timeline);
	else
		summary_free(a->summary);
	return ERR_NONE;
}

int cmd_analyse(const struct run *run, const struct symbol_options *symbols,
		int (*use)(const struct summary *s, const void *arg), const void *arg)
{
	static const struct symbol_options usual;
	struct timeline timeline;
	struct summary summary;
	struct error e;
	int status;

	if (stacks_name(run, symbols ? symbols : &usual, &e) || kernels_name(run, &e))
		return cmd_fail(&e, NULL);
	if (summary_of_run(&summary, &timeline, run, &e))
		return cmd_fail(&e, NULL);
	cmd_progress_clear();
	status = use(&summary, arg);
	pool_run(FREES, free_one, &(struct analysis){ &summary, &timeline }, NULL);
	return status;
}

struct report_style cmd_style(int fd)
{
	struct report_style style = { .columns = 80 };
	const char *columns = getenv("COLUMNS"), *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
	const char *deep = getenv("COLORTERM");
	bool terminal = isatty(fd);
	struct winsize size;

	if (columns && atoi(columns) > 0)
		style.columns = (unsigned)atoi(columns);
	else if (terminal && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
		style.columns = size.ws_col;
	style.columns = style.columns < 80 ? 80 : style.columns > 140 ? 140 : style.columns;
	style.many_colours = (term && strstr(term, "256color")) || (deep && *deep);
	style.colour = terminal && !(no_colour && *no_colour) && !(term && strcmp(term, "dumb") == 0);
	style.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	return style;
}

int cmd_finish(FILE *out, const char *name, int status)
{
	struct error e;
	bool failed;

	errno = 0;
	failed = ferror(out) != 0;
	if (out == stdout ? fflush(out) != 0 : fclose(out) != 0)
		failed = true;
	if (!failed)
		return status;
	if (errno == EPIPE)
		return ERR_SYSTEM; /* the reader has seen enough (| head): not worth a line */
	err_set(&e, ERR_SYSTEM, name, ERR_NO_BYTE, "cannot write: %s",
		errno ? strerror(errno) : "an earlier write failed");
	return cmd_fail(&e, NULL);
}
