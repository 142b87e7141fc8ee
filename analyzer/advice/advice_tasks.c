/* SPDX-License-Identifier: BSD-2-Clause */
/* advice_tasks.c: which tasks of the host's records a device's idle time has to do with.
 *
 * By the chains of its gaps alone, whose tasks are those of one file: process numbers come again in other containers, and one file
 * may watch the processes of all devices. */
#include "advice_tasks.h"

#include <stdlib.h>
#include <string.h>

#include "host/host_match.h"
#include "tools/alloc.h"

static int by_address(const void *a, const void *b)
{
	const struct host_task *const *x = a, *const *y = b;

	return ((uintptr_t)*x > (uintptr_t)*y) - ((uintptr_t)*x < (uintptr_t)*y);
}

static bool address_before(const void *element, const void *key)
{
	const struct host_task *const *task = element;

	return (uintptr_t)*task < (uintptr_t)key;
}

static bool keep(struct task_list *list, const struct host_task *task)
{
	if (!task || (list->n && list->at[list->n - 1] == task))
		return true;
	if (!array_room(list->at, list->n, list->cap))
		return false;
	list->at[list->n++] = task;
	return true;
}

static void sort(struct task_list *list)
{
	size_t kept = 0;

	array_sort(list->at, list->n, sizeof(*list->at), by_address);
	for (size_t i = 0; i < list->n; i++)
		if (!kept || list->at[kept - 1] != list->at[i])
			list->at[kept++] = list->at[i];
	list->n = kept;
}

bool tasks_find(struct seen_tasks *out, const struct advisor *a, piece_wanted *wanted)
{
	const struct attribution *all = &a->device->attribution;
	bool ok = true;

	*out = (struct seen_tasks){ .advisor = a };
	for (size_t i = 0; i < all->n_gaps; i++)
		for (size_t k = 0; ok && k < all->gaps[i].n_causes; k++) {
			const struct gap_cause *c = &all->gaps[i].causes[k];

			if (!c->n_chain || seen_part(a, c->begin_ns, c->end_ns) <= 0)
				continue;
			ok = keep(&out->submit, c->chain[0].task) &&
			     (!wanted(c) || keep(&out->ends, c->chain[c->n_chain - 1].task));
		}
	sort(&out->ends);
	sort(&out->submit);
	if (!ok)
		tasks_free(out);
	return ok;
}

void tasks_free(struct seen_tasks *s)
{
	free(s->ends.at);
	free(s->submit.at);
	*s = (struct seen_tasks){ 0 };
}

/* ---- of one file -------------------------------------------------------------------------------------------------------- */

/* Its first thread, an index; itself where that is not known. */
static size_t process_of(const struct host_trace *h, size_t task)
{
	uint32_t leader = h->tasks[task].leader;

	return leader < h->n_tasks ? leader : task;
}

/* Those of the list that are of this file: [from, until). False: none. */
static bool within(const struct task_list *list, const struct host_trace *h, size_t *from, size_t *until)
{
	*from = array_first(list->at, list->n, sizeof(*list->at), address_before, h->tasks);
	*until = array_first(list->at, list->n, sizeof(*list->at), address_before, h->tasks + h->n_tasks);
	return *from < *until;
}

static bool mark(uint8_t *marks, const struct task_list *list, const struct host_trace *h, uint8_t as)
{
	size_t from, until;
	bool any = within(list, h, &from, &until);

	for (size_t i = from; i < until; i++)
		marks[process_of(h, (size_t)(list->at[i] - h->tasks))] |= as;
	return any;
}

static int by_origin(const void *a, const void *b)
{
	const struct host_task *x = *(const struct host_task *const *)a, *y = *(const struct host_task *const *)b;

	return x->creator != y->creator ? (x->creator > y->creator) - (x->creator < y->creator)
					: strcmp(x->name, y->name);
}

bool task_is_worker(const struct host_task *task)
{
	return task->tid == task->pid && !(task->flags & (GST_TASK_STRANGER | GST_TASK_KERNEL | GST_TASK_ROOT));
}

/* Processes of the same name and creator as those at the ends. False: no memory. */
static bool mark_siblings(uint8_t *marks, const struct host_trace *h)
{
	const struct host_task **known = array_new(h->n_tasks, sizeof(*known));
	size_t n = 0;

	if (!known)
		return false;
	for (size_t i = 0; i < h->n_tasks; i++)
		if ((marks[i] & TASK_END) && task_is_worker(&h->tasks[i]) && h->tasks[i].creator != HOST_NOBODY)
			known[n++] = &h->tasks[i];
	array_sort(known, n, sizeof(*known), by_origin);
	for (size_t i = 0; n && i < h->n_tasks; i++) {
		const struct host_task *task = &h->tasks[i];

		if (task_is_worker(task) && bsearch(&task, known, n, sizeof(*known), by_origin))
			marks[i] |= TASK_END;
	}
	free(known);
	return true;
}

/* Processes that put work on other devices alone: what descends from them is theirs. */
static void mark_others(uint8_t *marks, const struct advisor *a, const struct host_trace *h)
{
	const struct summary *s = a->summary;

	for (size_t i = 0; i < s->ranks.n_members; i++) {
		const struct trace *t = s->ranks.members[i].trace;
		struct host_match m;
		size_t process;

		if (recover_ordinal(s, a->device, t) != GST_NONE)
			continue;
		m = host_match_find(s->run->hosts, s->run->n_hosts, t, t->header.pid, t->begin_ns);
		if (m.host != h || !m.task)
			continue;
		process = process_of(h, (size_t)(m.task - h->tasks));
		marks[process] |= marks[process] & TASK_TREE ? 0 : TASK_OTHERS;
	}
}

/* The creator's process; n_tasks: not known. */
static size_t parent_of(const struct host_trace *h, size_t process)
{
	uint32_t creator = h->tasks[process].creator;

	return creator < h->n_tasks ? process_of(h, creator) : h->n_tasks;
}

#define SETTLED (TASK_TREE | TASK_OTHERS | TASK_LOOKED)

/* Up to the first process of which it is known, then the same way again. Damaged records may say of two that each created the other. */
static void mark_descent(uint8_t *marks, const struct host_trace *h, size_t process)
{
	size_t at = process;
	uint8_t found;

	for (; at < h->n_tasks && !(marks[at] & SETTLED); at = parent_of(h, at))
		marks[at] |= TASK_LOOKED;
	found = at < h->n_tasks && marks[at] & TASK_TREE ? TASK_TREE : 0;
	for (; found && process != at; process = parent_of(h, process))
		marks[process] |= found;
}

uint8_t *tasks_mark(struct seen_tasks *s, const struct host_trace *h, bool *failed)
{
	uint8_t *marks;
	bool any;

	*failed = false;
	if (!h->n_tasks)
		return NULL;
	marks = array_new(h->n_tasks, sizeof(*marks));
	*failed = !marks;
	if (!marks)
		return NULL;
	any = mark(marks, &s->ends, h, TASK_END);
	any |= mark(marks, &s->submit, h, TASK_TREE);
	*failed = any && !mark_siblings(marks, h);
	if (!any || *failed) {
		free(marks);
		return NULL;
	}
	mark_others(marks, s->advisor, h);
	for (size_t i = 0; i < h->n_tasks; i++)
		mark_descent(marks, h, process_of(h, i));
	for (size_t i = 0; i < h->n_tasks; i++)
		marks[i] |= marks[process_of(h, i)];
	return marks;
}
