/* SPDX-License-Identifier: BSD-2-Clause */
#include "end_table.h"

#include <stdlib.h>

#include "../format_host.h"

#define BUCKETS 16384u

struct end { /* of a process */
	uint64_t inode;
	uint32_t pid, round;
	uint32_t next;       /* in its bucket, or among the free ones */
	uint32_t next_of_it; /* in the process's list */
	uint16_t ends;
};

struct pipe { /* … or socket */
	uint64_t inode;
	uint32_t readers, writers; /* processes */
	uint32_t next;
};

/* Places are counted from 1, so that 0 is none. There is a pipe for each end at most. */
struct end_table {
	struct end *end;
	struct pipe *pipe;
	uint32_t cap, n_ends, free_end, free_pipe;
	uint32_t by_holder[BUCKETS], by_inode[BUCKETS];
};

struct end_table *end_table_new(void)
{
	return calloc(1, sizeof(struct end_table));
}

void end_table_free(struct end_table *t)
{
	if (!t)
		return;
	free(t->end);
	free(t->pipe);
	free(t);
}

static uint32_t bucket_of(uint64_t inode, uint32_t pid)
{
	return (uint32_t)((inode * 31 + pid) * 0x9e3779b97f4a7c15u >> 32) % BUCKETS;
}

/* ---- room ------------------------------------------------------------------------------------------------ */

static bool grow(struct end_table *t)
{
	uint32_t cap = t->cap ? 2 * t->cap : 256;
	struct pipe *pipe = cap <= END_TABLE_MAX ? realloc(t->pipe, (cap + 1) * sizeof(*pipe)) : NULL;
	struct end *end;

	if (!pipe)
		return false;
	t->pipe = pipe;
	end = realloc(t->end, (cap + 1) * sizeof(*end));
	if (!end)
		return false;
	t->end = end;
	for (uint32_t i = cap; i > t->cap; i--) {
		t->end[i] = (struct end){ .next = t->free_end };
		t->free_end = i;
		t->pipe[i] = (struct pipe){ .next = t->free_pipe };
		t->free_pipe = i;
	}
	t->cap = cap;
	return true;
}

/* ---- pipes ----------------------------------------------------------------------------------------------- */

/* The place that says where it is; of none, where it would be. */
static uint32_t *pipe_link(struct end_table *t, uint64_t inode)
{
	uint32_t *at = &t->by_inode[bucket_of(inode, 0)];

	while (*at && t->pipe[*at].inode != inode)
		at = &t->pipe[*at].next;
	return at;
}

static void count_holder(struct end_table *t, uint64_t inode, uint16_t ends)
{
	uint32_t *at = pipe_link(t, inode);

	if (!*at) {
		uint32_t i = t->free_pipe;

		t->free_pipe = t->pipe[i].next;
		t->pipe[i] = (struct pipe){ .inode = inode };
		*at = i;
	}
	t->pipe[*at].readers += ends & GST_PIPE_READS ? 1 : 0;
	t->pipe[*at].writers += ends & GST_PIPE_WRITES ? 1 : 0;
}

static void uncount_holder(struct end_table *t, uint64_t inode, uint16_t ends)
{
	uint32_t *at = pipe_link(t, inode), i = *at;
	struct pipe *p = &t->pipe[i];

	p->readers -= ends & GST_PIPE_READS ? 1 : 0;
	p->writers -= ends & GST_PIPE_WRITES ? 1 : 0;
	if (p->readers || p->writers)
		return;
	*at = p->next;
	p->next = t->free_pipe;
	t->free_pipe = i;
}

uint16_t end_table_held(const struct end_table *t, uint64_t inode)
{
	uint32_t i = t->by_inode[bucket_of(inode, 0)];

	while (i && t->pipe[i].inode != inode)
		i = t->pipe[i].next;
	if (!i)
		return 0;
	return (uint16_t)((t->pipe[i].readers ? GST_PIPE_READS : 0) | (t->pipe[i].writers ? GST_PIPE_WRITES : 0));
}

/* ---- ends ------------------------------------------------------------------------------------------------ */

static uint32_t *end_link(struct end_table *t, uint32_t pid, uint64_t inode)
{
	uint32_t *at = &t->by_holder[bucket_of(inode, pid)];

	while (*at && (t->end[*at].pid != pid || t->end[*at].inode != inode))
		at = &t->end[*at].next;
	return at;
}

enum end_news end_table_learn(struct end_table *t, uint32_t *list, uint32_t pid, uint64_t inode, uint16_t ends,
			      uint32_t round)
{
	uint32_t i = *end_link(t, pid, inode), *at;
	uint16_t more;

	if (!i && !t->free_end && !grow(t))
		return END_NO_ROOM;
	if (!i) {
		i = t->free_end;
		t->free_end = t->end[i].next;
		at = &t->by_holder[bucket_of(inode, pid)];
		t->end[i] = (struct end){ .inode = inode, .pid = pid, .next = *at, .next_of_it = *list };
		*at = i;
		*list = i;
		t->n_ends++;
	}
	t->end[i].round = round;
	more = (uint16_t)(ends & ~t->end[i].ends & (GST_PIPE_READS | GST_PIPE_WRITES));
	if (!more)
		return END_KNOWN;
	t->end[i].ends |= more;
	count_holder(t, inode, more);
	return END_NEW;
}

static void drop(struct end_table *t, uint32_t i)
{
	struct end *e = &t->end[i];

	*end_link(t, e->pid, e->inode) = e->next;
	if (e->ends)
		uncount_holder(t, e->inode, e->ends);
	e->next = t->free_end;
	t->free_end = i;
	t->n_ends--;
}

static void drop_some(struct end_table *t, uint32_t *list, bool all, uint32_t round)
{
	while (*list) {
		uint32_t i = *list;

		if (!all && t->end[i].round == round) {
			list = &t->end[i].next_of_it;
			continue;
		}
		*list = t->end[i].next_of_it;
		drop(t, i);
	}
}

void end_table_keep(struct end_table *t, uint32_t *list, uint32_t round)
{
	drop_some(t, list, false, round);
}

void end_table_forget(struct end_table *t, uint32_t *list)
{
	drop_some(t, list, true, 0);
}

size_t end_table_count(const struct end_table *t)
{
	return t->n_ends;
}
