/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_progress.c: one line on the terminal while long work goes on: "reading 42 % 310 MB/s, about 12 s left". */
#include "cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tools/progress.h"

#define QUIET_NS 1000000000 /* what takes no longer than this has no line */
#define EVERY_NS 200000000
#define SURE 0.02 /* of the work must be done before the time left is told */

struct line {
	struct progress progress;
	int64_t begin_ns, stage_ns, shown_ns;
	enum progress_stage stage;
	bool begun, shown;
};

static struct line line;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void rate(char *text, size_t size, const struct progress *p, double seconds)
{
	double each = seconds > 0 ? (double)p->done / seconds : 0;

	if (progress_unit(p->stage) == PROGRESS_BYTES)
		snprintf(text, size, " %.0f MB/s", each / 1e6);
	else
		*text = 0; /* items are steps of unequal length */
}

static void left(char *text, size_t size, const struct progress *p, double seconds)
{
	double whole = progress_whole(p), more = whole > 0 ? seconds * (1 - whole) / whole : 0;

	*text = 0;
	if (whole < SURE)
		return;
	if (more < 100)
		snprintf(text, size, ", about %.0f s left", more < 1 ? 1 : more);
	else
		snprintf(text, size, ", about %.0f min left", more / 60);
}

static void show(struct line *l, int64_t now)
{
	char speed[32], more[48], text[160];
	struct winsize size = { 0 };
	const struct progress *p = &l->progress;

	rate(speed, sizeof(speed), p, (double)(now - l->stage_ns) / 1e9);
	left(more, sizeof(more), p, (double)(now - l->begin_ns) / 1e9);
	snprintf(text, sizeof(text), "%s %.0f %%%s%s", progress_words(p->stage), 100 * progress_part(p), speed, more);
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && strlen(text) >= size.ws_col)
		text[size.ws_col - 1] = 0; /* a line that wraps cannot be taken back */
	fprintf(stderr, "\r%s\033[K", text);
	fflush(stderr);
	l->shown = true;
	l->shown_ns = now;
}

static void tell(struct progress *p)
{
	struct line *l = &line;
	int64_t now = now_ns();

	if (!l->begun || p->stage < l->stage) /* another analysis */
		l->begin_ns = now;
	if (!l->begun || p->stage != l->stage)
		l->stage_ns = now;
	l->stage = p->stage;
	l->begun = true;
	if (now - l->begin_ns > QUIET_NS && now - l->shown_ns > EVERY_NS)
		show(l, now);
}

void cmd_progress_start(void)
{
	const char *term = getenv("TERM");

	if (!isatty(STDERR_FILENO) || !term || !*term || strcmp(term, "dumb") == 0)
		return;
	line.progress.tell = tell;
	line.progress.last = PROGRESS_CAUSES;
	progress_listen(&line.progress);
}

void cmd_progress_read_only(void)
{
	line.progress.last = PROGRESS_READ;
}

void cmd_progress_tables(void)
{
	line.progress.last = PROGRESS_TABLES;
}

void cmd_progress_page(void)
{
	line.progress.last = PROGRESS_PAGE;
}

void cmd_progress_clear(void)
{
	if (!line.shown)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	line.shown = false;
}
