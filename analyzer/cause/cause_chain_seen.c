/* SPDX-License-Identifier: BSD-2-Clause */
#include "cause_chain_seen.h"

#include <stdlib.h>

#include "cause_chain_leaf.h"
#include "tools/alloc.h"

enum doing { FETCHES, FLUSHES, SWAPS };

struct chain_sight {
	const struct host_task *task;
	uint64_t inode; /* of what is flushed, 0 not known */
	uint32_t dev;
	uint32_t doing;
};

static int by_task(const void *a, const void *b)
{
	const struct chain_sight *x = a, *y = b;

	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->doing != y->doing)
		return x->doing < y->doing ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return (x->dev > y->dev) - (x->dev < y->dev);
}

/* Many answers in a row come by one way. */
static bool add(struct chain_seen *seen, struct chain_sight s)
{
	for (size_t back = 1; back <= 2 && back <= seen->n; back++)
		if (by_task(&seen->at[seen->n - back], &s) == 0)
			return true;
	if (!array_room(seen->at, seen->n, seen->cap))
		return false;
	seen->at[seen->n++] = s;
	return true;
}

static bool fetches(enum chain_state state)
{
	return state == CHAIN_PIPE_READ || state == CHAIN_SOCKET_READ || state == CHAIN_POLL ||
	       state == CHAIN_FILE_READ;
}

static bool add_segment(struct chain_seen *seen, const struct chain_segment *s)
{
	const struct chain_step *leaf = chain_leaf(s);
	const struct host_what *what = step_what(leaf);

	for (size_t k = 1; k < s->n_steps; k++)
		if (fetches(s->steps[k].state) &&
		    !add(seen, (struct chain_sight){ .task = s->steps[k].task, .doing = FETCHES }))
			return false;
	if (leaf->state == CHAIN_SWAP)
		return add(seen, (struct chain_sight){ .task = leaf->task, .doing = SWAPS });
	if (leaf->state == CHAIN_FLUSH)
		return add(seen, (struct chain_sight){ .task = leaf->task,
						       .doing = FLUSHES,
						       .inode = what ? what->inode : 0,
						       .dev = what ? what->dev : 0 });
	return true;
}

bool chain_seen_set(struct chain_seen *seen, const struct chain *walk)
{
	seen->n = 0;
	for (size_t i = 0; i < walk->n; i++)
		if (!add_segment(seen, &walk->at[i]))
			return false;
	array_sort(seen->at, seen->n, sizeof(*seen->at), by_task);
	return true;
}

void chain_seen_free(struct chain_seen *seen)
{
	free(seen->at);
	*seen = (struct chain_seen){ 0 };
}

static bool sorts_before(const void *element, const void *key)
{
	return by_task(element, key) < 0;
}

/* The first that is not before the key, if it is of the same task and doing. */
static const struct chain_sight *find(const struct chain_seen *seen, struct chain_sight key)
{
	size_t at = seen ? array_first(seen->at, seen->n, sizeof(*seen->at), sorts_before, &key) : 0;

	return seen && at < seen->n && seen->at[at].task == key.task && seen->at[at].doing == key.doing ? &seen->at[at]
													: NULL;
}

bool chain_seen_fetching(const struct chain_seen *seen, const struct host_task *task)
{
	return find(seen, (struct chain_sight){ .task = task, .doing = FETCHES }) != NULL;
}

bool chain_seen_swapping(const struct chain_seen *seen, const struct host_task *task)
{
	return find(seen, (struct chain_sight){ .task = task, .doing = SWAPS }) != NULL;
}

bool chain_seen_flushing(const struct chain_seen *seen, const struct host_task *task, const struct host_what *file)
{
	const struct chain_sight key = {
		.task = task, .doing = FLUSHES, .inode = file->inode, .dev = file->inode ? file->dev : 0
	};
	const struct chain_sight *s = find(seen, key);

	return s && (!file->inode || (s->inode == key.inode && s->dev == key.dev));
}
