/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf_tasks.h"

#include <stdlib.h>
#include <string.h>

static struct perf_task **bucket_of(const struct perf_tasks *t, uint32_t tid)
{
	return (struct perf_task **)&t->bucket[tid % (sizeof(t->bucket) / sizeof(t->bucket[0]))];
}

struct perf_task *perf_tasks_find(const struct perf_tasks *t, uint32_t tid)
{
	struct perf_task *task = *bucket_of(t, tid);

	while (task && task->id.tid != tid)
		task = task->next;
	return task;
}

struct perf_task *perf_tasks_add(struct perf_tasks *t, const struct proc_task *id)
{
	struct perf_task *task = calloc(1, sizeof(*task)), **bucket = bucket_of(t, id->tid);

	if (task && t->n == t->cap) {
		size_t cap = t->cap ? 2 * t->cap : 64;
		struct perf_task **at = realloc(t->at, cap * sizeof(*at));
		if (!at) {
			free(task);
			return NULL;
		}
		t->at = at;
		t->cap = cap;
	}
	if (!task)
		return NULL;
	task->id = *id;
	task->index = t->n;
	task->next = *bucket;
	*bucket = task;
	t->at[t->n++] = task;
	return task;
}

void perf_tasks_remove(struct perf_tasks *t, struct perf_task *task)
{
	struct perf_task **at = bucket_of(t, task->id.tid);

	while (*at != task)
		at = &(*at)->next;
	*at = task->next;
	t->at[task->index] = t->at[--t->n];
	t->at[task->index]->index = task->index;
	free(task);
}

void perf_tasks_free(struct perf_tasks *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->at[i]);
	free(t->at);
	memset(t, 0, sizeof(*t));
}
