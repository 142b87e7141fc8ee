/* SPDX-License-Identifier: BSD-2-Clause */
/* advice_workers.c: how long the processes worked that make the batches, by the host probes.
 *
 * A worker is a process that the device waited for in the end, and its siblings: the same name, the same creator. It works while it is on a CPU, or
 * asleep, or writes; it reads while it waits for a file or the network. It does neither while it waits for a pipe, a queue or a lock: there the program
 * says when it goes on. */
#include "advice_parts.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "chain_parts.h"
#include "host_match.h"
#include "ns.h"

static void add_wait(struct workers *out, enum chain_state state, int64_t ns)
{
	switch (state) {
	case CHAIN_FILE_READ:
	case CHAIN_FAULT:
	case CHAIN_SOCKET_READ:
		out->read_ns = sum64(out->read_ns, ns);
		break;
	case CHAIN_FILE_WRITE:
	case CHAIN_FLUSH:
	case CHAIN_SWAP:
	case CHAIN_RECLAIM:
	case CHAIN_SLEEP:
		out->work_ns = sum64(out->work_ns, ns);
		break;
	default:
		break;
	}
}

/* Of its first thread, in what the recovery is about. */
static void add_work(struct workers *out, const struct advisor *a, const struct host_trace *h,
		     const struct host_task *task)
{
	int64_t on_cpu = seen_part(a, max64(task->begin_ns, h->begin_ns), min64(task->end_ns, h->end_ns));

	for (size_t i = host_wait_after(task, a->recovery->begin_ns); i < task->n_waits; i++) {
		const struct host_wait *w = &task->waits[i];

		if (w->out_ns >= a->recovery->end_ns)
			break;
		on_cpu -= seen_part(a, w->out_ns, w->in_ns);
		add_wait(out, chain_state_of(&h->header, &w->what, false), seen_part(a, w->out_ns, w->wake_ns));
	}
	for (size_t i = 0; i < task->n_stalls; i++) {
		const struct host_stalls *s = &task->stalls[i];
		int64_t length = s->end_ns - s->begin_ns, here = seen_part(a, s->begin_ns, s->end_ns);
		double share = length > 0 ? (double)here / (double)length : 0;

		on_cpu -= (int64_t)(share * (double)(s->blocked_ns + s->queued_ns));
		add_wait(out, chain_state_of(&h->header, &s->what, false), (int64_t)(share * (double)s->blocked_ns));
	}
	on_cpu = max64(0, on_cpu);
	out->n++;
	out->on_cpu_ns = sum64(out->on_cpu_ns, on_cpu);
	out->work_ns = sum64(out->work_ns, on_cpu);
}

/* ---- which processes ---------------------------------------------------------------------------------------------------- */

static int by_pid(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static bool pid_before(const void *element, const void *key)
{
	return *(const uint32_t *)element < *(const uint32_t *)key;
}

static bool has_pid(const uint32_t *pids, size_t n, uint32_t pid)
{
	size_t i = array_first(pids, n, sizeof(*pids), pid_before, &pid);

	return i < n && pids[i] == pid;
}

/* Processes at the ends of chains, by the numbers they have for themselves. NULL: no memory. */
static uint32_t *find_pids(struct advisor *a, size_t *n)
{
	const struct attribution *all = &a->device->attribution;
	size_t cap = 0, kept = 0;
	uint32_t *pids = array_grow(NULL, &cap, sizeof(*pids));

	*n = 0;
	if (!pids)
		return NULL;
	for (size_t i = 0; i < all->n_gaps; i++)
		for (size_t k = 0; k < all->gaps[i].n_causes; k++) {
			const struct gap_cause *c = &all->gaps[i].causes[k];

			if (c->n_chain < 2 || c->chain[c->n_chain - 1].pid == c->chain[0].pid ||
			    seen_part(a, c->begin_ns, c->end_ns) <= 0 || !advise_is_input(c))
				continue;
			if (!array_room(pids, *n, cap)) {
				free(pids);
				return NULL;
			}
			pids[(*n)++] = c->chain[c->n_chain - 1].pid;
		}
	array_sort(pids, *n, sizeof(*pids), by_pid);
	for (size_t i = 0; i < *n; i++)
		if (!kept || pids[kept - 1] != pids[i])
			pids[kept++] = pids[i];
	*n = kept;
	return pids;
}

static bool is_process(const struct host_task *task)
{
	return task->tid == task->pid && !(task->flags & (GST_TASK_STRANGER | GST_TASK_KERNEL | GST_TASK_ROOT));
}

static bool is_sibling(const struct host_task *task, const struct host_task *worker)
{
	return worker && task->creator == worker->creator && !strcmp(task->name, worker->name);
}

bool workers_find(struct advisor *a, struct workers *out)
{
	size_t n;
	uint32_t *pids = find_pids(a, &n);

	*out = (struct workers){ 0 };
	if (!pids)
		return false;
	for (size_t i = 0; n && i < a->summary->run->n_hosts; i++) {
		const struct host_trace *h = a->summary->run->hosts[i];
		const struct host_task *worker = NULL;

		for (size_t k = 0; k < h->n_tasks && !worker; k++)
			if (is_process(&h->tasks[k]) && has_pid(pids, n, host_own_pid(&h->tasks[k])))
				worker = &h->tasks[k];
		for (size_t k = 0; k < h->n_tasks; k++) {
			const struct host_task *task = &h->tasks[k];

			if (is_process(task) && seen_part(a, task->begin_ns, task->end_ns) > 0 &&
			    (has_pid(pids, n, host_own_pid(task)) || is_sibling(task, worker)))
				add_work(out, a, h, task);
		}
	}
	free(pids);
	return true;
}
