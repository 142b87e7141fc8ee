/* SPDX-License-Identifier: BSD-2-Clause */
#include "cause_chain_saved.h"

#include <stdlib.h>

#include "cause_chain_leaf.h"
#include "tools/alloc.h"

struct chain_write { /* one wait, or one sum of short ones; once summed up: a file */
	uint64_t inode, offset, bytes;
	const void *record; /* a sum; a wait whose place in the file is not known. NULL: another wait */
	const struct host_task *task;
	uint32_t dev;
	int32_t syscall;
};

/* -1, 0, 1 */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int by_file(const struct chain_write *a, const struct chain_write *b)
{
	return a->inode != b->inode ? ORDER(a->inode, b->inode) : ORDER(a->dev, b->dev);
}

static uint64_t add_bytes(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Waits that are one another's equal are of one call: it waits again and again, and each wait has all that was asked for. Where no place in the
 * file is known (never of eBPF's), each is likelier to be a call of its own: files are saved in pieces of one length. */
static int by_call(const void *one, const void *other)
{
	const struct chain_write *a = one, *b = other;

	if (by_file(a, b))
		return by_file(a, b);
	if (a->record != b->record)
		return ORDER((uintptr_t)a->record, (uintptr_t)b->record);
	if (a->task != b->task)
		return ORDER(a->task, b->task);
	if (a->offset != b->offset)
		return ORDER(a->offset, b->offset);
	return a->syscall != b->syscall ? ORDER(a->syscall, b->syscall) : ORDER(a->bytes, b->bytes);
}

static const void *record_of(const struct chain_step *leaf)
{
	if (!leaf->wait)
		return leaf->stalls;
	return leaf->wait->what.offset == UINT64_MAX ? leaf->wait : NULL;
}

static bool saves(const struct chain_segment *s, const struct host_task *submitter, int64_t copied_out_ns)
{
	const struct chain_step *leaf = chain_leaf(s);

	return leaf->state == CHAIN_FILE_WRITE && !leaf->written && s->begin_ns >= copied_out_ns && step_what(leaf) &&
	       host_same_process(leaf->task, submitter) && (leaf->wait || leaf->stalls->begin_ns >= copied_out_ns);
}

/* Each call once; then each file. */
static void sum_up(struct chain_saved *saved)
{
	size_t kept = 0;

	array_sort(saved->at, saved->n, sizeof(*saved->at), by_call);
	for (size_t i = 0; i < saved->n; i++) {
		struct chain_write w = saved->at[i];

		if (i + 1 < saved->n && by_call(&w, &saved->at[i + 1]) == 0)
			continue;
		if (kept && by_file(&saved->at[kept - 1], &w) == 0)
			saved->at[kept - 1].bytes = add_bytes(saved->at[kept - 1].bytes, w.bytes);
		else
			saved->at[kept++] = w;
	}
	saved->n = kept;
}

bool chain_saved_set(struct chain_saved *saved, const struct chain *walk, int64_t copied_out_ns)
{
	saved->n = 0;
	for (size_t i = 0; i < walk->n; i++) {
		const struct chain_step *leaf = chain_leaf(&walk->at[i]);
		const struct host_what *w = step_what(leaf);

		if (!saves(&walk->at[i], walk->at[0].steps[0].task, copied_out_ns))
			continue;
		if (!array_room(saved->at, saved->n, saved->cap))
			return false;
		saved->at[saved->n++] = (struct chain_write){ .inode = w->inode,
							      .dev = w->dev,
							      .offset = w->offset,
							      .bytes = step_bytes_all(leaf),
							      .record = record_of(leaf),
							      .task = leaf->task,
							      .syscall = w->syscall };
	}
	sum_up(saved);
	return true;
}

void chain_saved_free(struct chain_saved *saved)
{
	free(saved->at);
	*saved = (struct chain_saved){ 0 };
}

static bool sorts_before(const void *element, const void *key)
{
	return by_file(element, key) < 0;
}

uint64_t chain_saved_bytes(const struct chain_saved *saved, const struct host_what *file)
{
	const struct chain_write key = { .inode = file->inode, .dev = file->dev };
	size_t at = saved ? array_first(saved->at, saved->n, sizeof(*saved->at), sorts_before, &key) : 0;

	return saved && at < saved->n && by_file(&saved->at[at], &key) == 0 ? saved->at[at].bytes : 0;
}
