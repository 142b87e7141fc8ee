/* SPDX-License-Identifier: BSD-2-Clause */
/* advice_workers.c: how long the processes worked that make the batches, by the host probes.
 *
 * A worker is a process that the device waited for in the end, and its siblings: the same name, the same creator. It works while it is on a CPU, or
 * asleep, or writes; it reads while it waits for a file or the network. It does neither while it waits for a pipe, a queue or a lock: there the program
 * says when it goes on. */
#include "advice_tasks.h"

#include <stdlib.h>

#include "chain/chain_parts.h"
#include "tools/ns.h"

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

/* Of its first thread. */
static void add_work(struct workers *out, const struct recovery *r, recovery_time *part, const struct host_trace *h,
		     const struct host_task *task)
{
	int64_t on_cpu = part(r, max64(task->begin_ns, h->begin_ns), min64(task->end_ns, h->end_ns));

	for (size_t i = host_wait_after(task, r->begin_ns); i < task->n_waits; i++) {
		const struct host_wait *w = &task->waits[i];

		if (w->out_ns >= r->end_ns)
			break;
		on_cpu -= part(r, w->out_ns, w->in_ns);
		add_wait(out, chain_state_of(&h->header, &w->what, false), part(r, w->out_ns, w->wake_ns));
	}
	for (size_t i = 0; i < task->n_stalls; i++) {
		const struct host_stalls *s = &task->stalls[i];
		int64_t length = s->end_ns - s->begin_ns, here = part(r, s->begin_ns, s->end_ns);
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

static bool is_batch_of_another(const struct gap_cause *c)
{
	return c->n_chain > 1 && cause_is_elsewhere(c) && advise_is_input(c);
}

static bool add_host(struct workers *out, struct seen_tasks *seen, const struct host_trace *h, recovery_time *part)
{
	const struct recovery *r = seen->advisor->recovery;
	bool failed;
	uint8_t *marks = tasks_mark(seen, h, &failed);

	for (size_t i = 0; marks && i < h->n_tasks; i++) {
		const struct host_task *task = &h->tasks[i];

		if (task_is_worker(task) && (marks[i] & TASK_END) && recovery_part(r, task->begin_ns, task->end_ns) > 0)
			add_work(out, r, part, h, task);
	}
	free(marks);
	return !failed;
}

bool workers_find(const struct advisor *a, struct workers *out, recovery_time *part)
{
	const struct run *run = a->summary->run;
	struct seen_tasks seen;
	bool ok = tasks_find(&seen, a, is_batch_of_another);

	*out = (struct workers){ 0 };
	for (size_t i = 0; ok && seen.ends.n && i < run->n_hosts; i++)
		ok = add_host(out, &seen, run->hosts[i], part);
	tasks_free(&seen);
	return ok;
}
