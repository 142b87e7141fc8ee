/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_chain.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

#define LEFT 6     /* columns before the submitting thread */
#define DEEPEST 24 /* … before any */

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

void report_chain_line(char *buf, size_t size, const struct gap_cause *c, bool utf8)
{
	size_t used = 0;

	*buf = 0;
	for (size_t i = 0; c->n_chain > 1 && i < c->n_chain && used < size; i++) {
		const struct chain_link *link = &c->chain[i];
		char state[NAME_MAX + 64], who[64];
		int n;

		short_state(state, sizeof(state), link->state);
		if (i)
			snprintf(who, sizeof(who), " %s %s[%u]", utf8 ? "←" : "<-", link->name, link->tid);
		else
			snprintf(who, sizeof(who), "thread %u", link->tid);
		n = snprintf(buf + used, size - used, "%s %s%s", who, says_itself(state) ? "" : "in ", state);
		used += n > 0 ? (size_t)n : 0;
	}
}
