/* SPDX-License-Identifier: BSD-2-Clause */
/* cause_chain_proof.c: where a chain's cause is only the likeliest that its records allow. */
#include "cause_chain_leaf.h"

#include "cause_chain_file.h"
#include "tools/alloc.h"
#include "tools/syscall_names.h"

#define LOOK_BACK 64 /* sums that began earlier and may not be over; more would make a hostile file slow */
#define MUCH(part, whole) ((part) > (whole) / 10)

/* What another process does is the submitting thread's business where data, or a lock in memory of both, comes from it. A child that is waited
 * for, a signal, a descriptor of another kind may mean anything. */
static bool hands_over_data(const struct chain_step *link, const struct chain_about *about)
{
	const struct host_what *w = step_what(link);
	const struct syscall_name *call = w ? syscall_find(&about->host->header, w->syscall) : NULL;

	switch (link->state) {
	case CHAIN_PIPE_READ:
	case CHAIN_PIPE_WRITE:
	case CHAIN_SOCKET_READ:
	case CHAIN_SOCKET_WRITE:
	case CHAIN_POLL:
		return true;
	case CHAIN_LOCK:
		return call && call->kind == SYSCALL_FUTEX; /* flock orders processes, and hands nothing over */
	default:
		return false;
	}
}

static bool data_comes_all_the_way(const struct chain_segment *s, const struct chain_about *about)
{
	for (size_t i = 0; i + 1 < s->n_steps; i++)
		if (!host_same_process(s->steps[i].task, s->steps[i + 1].task) && !hands_over_data(&s->steps[i], about))
			return false;
	return true;
}

static bool who_computes_is_proven(const struct chain_segment *s, const struct chain_about *about, enum cause_id cause)
{
	if (s->n_steps == 1)
		return true;
	if (cause ==
	    CAUSE_host_compute) /* who starts a thread computes before that; else it is not known why it was waited for */
		return chain_leaf(s)[-1].state == CHAIN_UNBORN;
	return cause == CAUSE_module_load ||
	       data_comes_all_the_way(s, about); /* a compiler is a child, and waited for */
}

/* The stretch that the walk asked the leaf's task about. */
static void asked_about(const struct chain_segment *s, const struct chain_about *about, int64_t *begin_ns,
			int64_t *end_ns)
{
	const struct chain_step *leaf = chain_leaf(s);

	*begin_ns = s->n_steps > 1 ? leaf[-1].begin_ns : about->asked_begin_ns;
	*end_ns = s->n_steps > 1 ? leaf[-1].end_ns : about->asked_end_ns;
}

static bool begins_before(const void *element, const void *key)
{
	return ((const struct host_stalls *)element)->begin_ns < *(const int64_t *)key;
}

/* A sum of short waits says how long they were between its begin and its end; of a part of that only what is likely: of them, and of what
 * the task computed in between, where they were much. */
static bool sums_are_proven(const struct chain_segment *s, const struct chain_about *about)
{
	const struct chain_step *leaf = chain_leaf(s);
	const struct host_task *t = leaf->task;
	int64_t begin_ns, end_ns;
	size_t i;

	if ((!leaf->stalls && !leaf->written && leaf->state != CHAIN_ON_CPU) || !t)
		return true;
	asked_about(s, about, &begin_ns, &end_ns);
	if (leaf->stalls)
		return leaf->stalls->begin_ns >= begin_ns && leaf->stalls->end_ns <= end_ns;
	i = array_first(t->stalls, t->n_stalls, sizeof(*t->stalls), begins_before, &s->end_ns);
	for (size_t back = 0; i > 0 && back < LOOK_BACK; back++) {
		const struct host_stalls *sum = &t->stalls[--i];

		if (sum->end_ns > s->begin_ns && (sum->begin_ns < begin_ns || sum->end_ns > end_ns) &&
		    MUCH(sum->blocked_ns + sum->queued_ns, sum->end_ns - sum->begin_ns))
			return false;
	}
	return true;
}

/* Which file it was says what it was for. */
static bool file_is_proven(const struct chain_step *leaf, enum cause_id cause)
{
	const struct host_what *w = step_what(leaf);

	switch (leaf->state) {
	case CHAIN_FILE_READ:
	case CHAIN_FAULT:
		if (w && w->flags & GST_WAIT_ANONYMOUS)
			return true;
		return w && (cause == CAUSE_input_storage ? file_is_surely_data(w) : w->file || w->inode);
	case CHAIN_FILE_WRITE:
	case CHAIN_FLUSH:
		return w && (w->file || w->inode);
	default:
		return true;
	}
}

/* Who brought what the step waited for, if that was a process of this machine: also one that is not followed. */
static const struct host_task *brought_by(const struct chain_segment *s, size_t i, const struct chain_about *about)
{
	const struct chain_step *step = &s->steps[i];
	const struct host_task *task = NULL;

	if (i + 1 < s->n_steps)
		task = s->steps[i + 1].task;
	else if (step->by == GST_WOKEN_TASK && step->wait && step->wait->waker < about->host->n_tasks)
		task = &about->host->tasks[step->wait->waker];
	return task && !(task->flags & GST_TASK_KERNEL) ? task : NULL;
}

static bool is_of_a_network_file(const struct chain_step *leaf)
{
	return (leaf->state == CHAIN_FILE_READ || leaf->state == CHAIN_FAULT) && step_what(leaf) &&
	       file_use(step_what(leaf)) == FILE_NETWORK;
}

/* Who is at the other end: another machine, by the address, where no process of this one brought the data (a machine has addresses of its own);
 * and what for, where communicators have sockets, too. */
static bool network_is_proven(const struct chain_segment *s, const struct chain_about *about)
{
	for (size_t i = 0; i < s->n_steps; i++) {
		const struct host_task *who = brought_by(s, i, about);

		if (step_may_ask_a_network(&s->steps[i]) && !task_is_of_the_tree(who))
			return !who && far_end(step_what(&s->steps[i])) == END_REMOTE && !about->communicates;
	}
	return is_of_a_network_file(chain_leaf(s));
}

bool chain_proves(const struct chain_segment *s, const struct chain_about *about, enum cause_id cause)
{
	const struct chain_step *leaf = chain_leaf(s);

	if (!sums_are_proven(s, about))
		return false;
	if (cause == CAUSE_input_network)
		return network_is_proven(s, about);
	if (leaf->state == CHAIN_ON_CPU || (leaf->written && cause != CAUSE_checkpoint))
		return who_computes_is_proven(s, about, cause);
	return file_is_proven(leaf, cause);
}
