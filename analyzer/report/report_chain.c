/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_chain.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tools/text.h"

#define LEFT 6     /* columns before the submitting thread */
#define DEEPEST 24 /* … before any */
#define LINK_SIZE (NAME_MAX + 160)

void report_chain(const struct page *p, const struct gap_cause *c)
{
	for (size_t i = 0; i < c->n_chain; i++) {
		const struct chain_link *link = &c->chain[i];
		unsigned left = LEFT + (unsigned)i < DEEPEST ? LEFT + (unsigned)i : DEEPEST;
		char line[PATH_MAX + 512], woken[96] = "";

		if (link->woken_by[0])
			snprintf(woken, sizeof(woken), ", woken by %s%s", strchr(link->woken_by, '[') ? "" : "its ",
				 link->woken_by);
		if (strcmp(link->woken_by, "interrupt") == 0)
			snprintf(woken, sizeof(woken), ", woken by an interrupt");
		if (c->n_chain == 1)
			snprintf(line, sizeof(line), "process %u thread %u: %s%s", link->pid, link->tid, link->state,
				 woken);
		else
			snprintf(line, sizeof(line), "%s[%u] of process %u: %s%s", link->name, link->tid, link->pid,
				 link->state, woken);
		fprintf(p->out, "%*s", (int)left, "");
		page_wrap(p, INK_PLAIN, left, left + 2, line);
	}
}

/* "pread64 /data/a/b", or "pread64 ...ata/a/b", without the folders: they are told elsewhere. */
static void short_state(char *buf, size_t size, const char *state)
{
	const char *whole = strstr(state, " /"), *path = whole ? whole : strstr(state, " ...");

	if (path && strchr(path + 2, '/'))
		snprintf(buf, size, "%.*s .../%s", (int)(path - state), state, text_base(path + 1));
	else
		snprintf(buf, size, "%s", state);
}

/* "in futex", but "on a CPU", "waiting for a CPU", "not started yet" */
static bool says_itself(const char *state)
{
	static const char *const begins[] = { "on a ", "waiting ", "held ", "not ", "reclaiming " };

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (strncmp(state, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* "<- python3[15] in read pipe:[7]"; of the submitting thread "thread 12 in futex". */
static size_t link_text(char *buf, size_t size, const struct gap_cause *c, size_t i, bool utf8)
{
	const struct chain_link *link = &c->chain[i];
	char state[NAME_MAX + 64], who[64];
	int n;

	short_state(state, sizeof(state), link->state);
	if (i)
		snprintf(who, sizeof(who), "%s %s[%u]", utf8 ? "←" : "<-", link->name, link->tid);
	else
		snprintf(who, sizeof(who), "thread %u", link->tid);
	n = snprintf(buf, size, "%s %s%s", who, says_itself(state) ? "" : "in ", state);
	return n > 0 ? (size_t)n : 0;
}

/* The links from this one on, which is not 0 where the first ones are left out. */
static void links_from(char *buf, size_t size, const struct gap_cause *c, size_t first, bool utf8)
{
	size_t used = 0;

	*buf = 0;
	for (size_t i = first; i < c->n_chain && used + 1 < size; i++) {
		if (i > first) {
			buf[used++] = ' ';
			buf[used] = 0;
		}
		used += link_text(buf + used, size - used, c, i, utf8);
	}
}

void report_chain_line(char *buf, size_t size, const struct gap_cause *c, bool utf8)
{
	*buf = 0;
	if (c->n_chain > 1)
		links_from(buf, size, c, 0, utf8);
}

/* "futex", "read", "on a CPU"; of the leaf "pread64 train-000.tar": what a thread was at, not which, and no folder. */
static void brief_state(char *buf, size_t size, const struct gap_cause *c, size_t i)
{
	const char *state = c->chain[i].state, *path = strstr(state, " /");

	path = path ? path : strstr(state, " ...");
	if (says_itself(state))
		snprintf(buf, size, "%s", state);
	else if (i + 1 < c->n_chain)
		snprintf(buf, size, "%.*s", (int)strcspn(state, " "), state);
	else if (path && strchr(path + 1, '/'))
		snprintf(buf, size, "%.*s %s", (int)(path - state), state, text_base(path + 1));
	else
		snprintf(buf, size, "%s", state);
}

static void brief_from(char *buf, size_t size, const struct gap_cause *c, size_t first, bool utf8)
{
	const char *arrow = utf8 ? "← " : "<- ";
	size_t used = 0;

	*buf = 0;
	for (size_t i = first; i < c->n_chain && used < size; i++) {
		char state[LINK_SIZE];
		int n;

		brief_state(state, sizeof(state), c, i);
		n = snprintf(buf + used, size - used, "%s%s%s", i > first ? " " : "", i ? arrow : "", state);
		used += n > 0 ? (size_t)n : 0;
	}
}

void report_chain_short(char *buf, size_t size, const struct gap_cause *c, bool utf8, unsigned columns)
{
	report_chain_line(buf, size, c, utf8);
	for (size_t first = 0; first < c->n_chain && text_columns(buf) > columns; first++)
		brief_from(buf, size, c, first, utf8);
}
