/* SPDX-License-Identifier: BSD-2-Clause */
#include "cause_chain_leaf.h"

#include <string.h>

#include "cause_chain_file.h"
#include "cause_chain_pressure.h"
#include "run/run.h"
#include "tools/text.h"
#include "trace/same_clock.h"

#define LARGE_WRITE ((uint64_t)1 << 20) /* bytes in one call: a file's worth, no line of a log */

static const struct host_what nothing = { .syscall = -2, .offset = UINT64_MAX };

static const struct host_what *what_of(const struct chain_step *s)
{
	const struct host_what *w = step_what(s);

	return w ? w : &nothing;
}

/* What is read of no known file is anonymous memory where memory is short: else nothing of that had left it. Looks tell of a fault whether the
 * process has anything in the swap: it is a file's where it has not, whatever the machine is short of; either, where it has. */
static enum cause_id of_no_known_file(const struct chain_segment *s, const struct chain_about *about,
				      bool short_of_memory)
{
	const struct chain_step *leaf = chain_leaf(s);
	bool fault = leaf->state == CHAIN_FAULT;

	if (fault && what_of(leaf)->fd_kind == GST_FD_FILE)
		return CAUSE_input_storage;
	if ((fault && short_of_memory) || chain_seen_swapping(about->seen, leaf->task))
		return CAUSE_memory_stall;
	return fault && about->host->probes.how == GST_PROBES_PROC ? CAUSE_unexplained : CAUSE_input_storage;
}

/* A recording of this run, written through shared memory: what its pages cost is the recorder's doing, and no data of the program's. */
static bool is_recording(const struct host_what *w, const struct run *run)
{
	size_t length = w->file ? strlen(w->file) : 0;

	if (!run || length < 4 || strcmp(w->file + length - 4, ".gst") != 0)
		return false;
	for (size_t i = 0; i < run->n_traces; i++)
		if (!strcmp(text_base(w->file), text_base(run->traces[i]->path)))
			return true;
	return false;
}

static enum cause_id of_read(const struct chain_segment *s, const struct chain_about *about)
{
	const struct chain_step *leaf = chain_leaf(s);
	const struct host_what *w = what_of(leaf);
	bool fault = leaf->state == CHAIN_FAULT,
	     short_of_memory = memory_was_short(about->host, leaf->task, s->begin_ns, s->end_ns);

	if (fault && (w->flags & GST_WAIT_ANONYMOUS))
		return CAUSE_memory_stall;
	if (is_recording(w, about->run))
		return CAUSE_unexplained;
	if (!fault && !w->file && !w->inode &&
	    chain_seen_flushing(about->seen, leaf->task, w)) /* a directory's, as the file was made */
		return CAUSE_checkpoint;
	switch (file_use(w)) {
	case FILE_NETWORK:
		return CAUSE_input_network;
	case FILE_MEMORY:
		return CAUSE_memory_stall;
	case FILE_KERNEL:
		return CAUSE_unexplained;
	case FILE_CODE: /* brought in for the first time, or thrown out for want of memory and needed again */
		return fault && short_of_memory ? CAUSE_memory_stall : CAUSE_module_load;
	case FILE_DATA:
		break;
	}
	return w->file || w->inode ? CAUSE_input_storage : of_no_known_file(s, about, short_of_memory);
}

uint64_t step_bytes(const struct chain_step *s)
{
	uint64_t bytes = what_of(s)->bytes;

	return !s->wait && s->stalls && s->stalls->count ? bytes / s->stalls->count : bytes;
}

uint64_t step_bytes_all(const struct chain_step *s)
{
	const struct host_stalls *sum = s->wait ? NULL : s->stalls;
	uint64_t asked = what_of(s)->bytes, bytes = step_bytes(s), more;

	if (s->state == CHAIN_FAULT && !asked) {
		bytes = PAGE_BYTES;
		asked = UINT64_MAX;
	}
	if (!sum || sum->what.offset == UINT64_MAX || sum->last_offset == UINT64_MAX ||
	    sum->last_offset <= sum->what.offset)
		return bytes;
	more = sum->last_offset - sum->what.offset;
	bytes = more > UINT64_MAX - bytes ? UINT64_MAX : bytes + more;
	return bytes < asked ? bytes : asked;
}

/* Did the submitting thread's process write this file after the copy, and as much as a copy is worth? */
static bool saves_a_copy(const struct chain_segment *s, const struct chain_about *about)
{
	const struct chain_step *leaf = chain_leaf(s);

	return s->begin_ns >= about->copied_out_ns && host_same_process(leaf->task, s->steps[0].task) &&
	       chain_saved_bytes(about->saved, what_of(leaf)) >= LARGE_WRITE;
}

static enum cause_id of_write(const struct chain_segment *s, const struct chain_about *about)
{
	const struct chain_step *leaf = chain_leaf(s);

	if (leaf->state == CHAIN_FLUSH || step_bytes(leaf) >= LARGE_WRITE ||
	    chain_seen_flushing(about->seen, leaf->task, what_of(leaf)) || saves_a_copy(s, about))
		return CAUSE_checkpoint;
	return CAUSE_output_io;
}

/* Waiting for a descriptor, and nobody on record is known to have ended it. */
static enum cause_id of_descriptor(const struct chain_step *s)
{
	switch (far_end(what_of(s))) {
	case END_LOCAL:
		return CAUSE_input_wait;
	case END_REMOTE:
	case END_LOOPBACK: /* a service, by all that is known: no process of the program's */
	case END_UNKNOWN:
		return CAUSE_input_network;
	case END_NONE:
		break;
	}
	return s->state == CHAIN_PIPE_READ ? CAUSE_input_wait : CAUSE_unexplained;
}

static bool waits_for_data(enum chain_state state)
{
	return state == CHAIN_PIPE_READ || state == CHAIN_SOCKET_READ || state == CHAIN_POLL;
}

static enum cause_id of_computing(const struct chain_segment *s, const struct chain_about *about)
{
	const struct chain_step *leaf = chain_leaf(s), *link = leaf - 1;

	if (s->n_steps == 1)
		return CAUSE_host_compute;
	if (leaf->task && (leaf->task->flags & GST_TASK_KERNEL))
		return CAUSE_unexplained;
	if (!host_same_process(leaf->task, s->steps[0].task))
		return CAUSE_input_preprocess;
	if (waits_for_data(link->state) || chain_seen_fetching(about->seen, leaf->task))
		return CAUSE_input_preprocess;
	return link->state == CHAIN_LOCK ? CAUSE_host_lock : CAUSE_host_compute;
}

bool step_may_ask_a_network(const struct chain_step *s)
{
	enum far_end end = far_end(what_of(s));

	return (s->state == CHAIN_SOCKET_READ || s->state == CHAIN_POLL) &&
	       (end == END_REMOTE || end == END_LOOPBACK || end == END_UNKNOWN);
}

/* On record is who ended the wait, but not what that did. */
static enum cause_id of_unknown(const struct chain_segment *s)
{
	const struct chain_step *link = chain_leaf(s) - 1;

	if (s->n_steps == 1 || !waits_for_data(link->state))
		return CAUSE_unexplained;
	if (step_may_ask_a_network(link) && task_is_of_the_tree(link[1].task))
		return CAUSE_input_wait;
	return of_descriptor(link);
}

/* What the program's own processes do for each other over a socket is no network's, though it be by the machine's own address; whoever else is
 * asked over one may do anything. */
static bool asks_a_network(const struct chain_step *link)
{
	return step_may_ask_a_network(link) && !task_is_of_the_tree(link[1].task);
}

/* Filling a file's pages is saving where that is a checkpoint's, in the submitting thread's process; else it is work like any other. */
static enum cause_id of_written(const struct chain_segment *s, const struct chain_about *about)
{
	enum cause_id cause = CAUSE_output_io;

	if (host_same_process(chain_leaf(s)->task, s->steps[0].task))
		cause = of_write(s, about);
	return cause == CAUSE_checkpoint ? cause : of_computing(s, about);
}

static enum cause_id of_leaf(const struct chain_segment *s, const struct chain_about *about)
{
	switch (chain_leaf(s)->state) {
	case CHAIN_ON_CPU:
		return of_computing(s, about);
	case CHAIN_QUEUED:
		return CAUSE_cpu_contention;
	case CHAIN_THROTTLED:
		return CAUSE_cpu_throttled;
	case CHAIN_FILE_READ:
	case CHAIN_FAULT:
		return of_read(s, about);
	case CHAIN_FILE_WRITE:
	case CHAIN_FLUSH:
		return chain_leaf(s)->written ? of_written(s, about) : of_write(s, about);
	case CHAIN_SWAP:
	case CHAIN_RECLAIM:
		return CAUSE_memory_stall;
	case CHAIN_SOCKET_READ:
	case CHAIN_PIPE_READ:
	case CHAIN_POLL:
		return of_descriptor(chain_leaf(s));
	case CHAIN_SOCKET_WRITE:
	case CHAIN_PIPE_WRITE:
		return CAUSE_output_io;
	case CHAIN_SLEEP:
		return CAUSE_host_sleep;
	case CHAIN_UNKNOWN:
		return of_unknown(s);
	case CHAIN_LOCK:
	case CHAIN_CHILD:
	case CHAIN_OTHER:
	case CHAIN_UNBORN:
	case CHAIN_STATES:
		break;
	}
	return CAUSE_unexplained;
}

/* Somebody on the way was a compiler: what it did, but for want of a CPU or of memory, was compiling. */
static bool compiled(const struct chain_segment *s)
{
	for (size_t i = 1; i < s->n_steps; i++)
		if (s->steps[i].task && !host_same_process(s->steps[i].task, s->steps[0].task) &&
		    name_is_compiler(s->steps[i].task->name))
			return true;
	return false;
}

static bool hands_over_output(const struct chain_step *link)
{
	return link->state == CHAIN_PIPE_WRITE || link->state == CHAIN_SOCKET_WRITE;
}

/* Input owed by others, whatever they lack. What is done with output that was handed over is no cause. */
static bool waits_for_a_network(const struct chain_segment *s)
{
	for (size_t i = 0; i + 1 < s->n_steps && !hands_over_output(&s->steps[i]); i++)
		if (asks_a_network(&s->steps[i]))
			return true;
	return false;
}

/* A recorded process that has communicators, of the machine that was watched: each has its own numbers, and their first PID namespaces have one
 * name. */
static bool is_rank(const struct host_task *task, const struct chain_about *about)
{
	for (size_t i = 0; i < about->run->n_traces; i++) {
		const struct gst_file_header *h = &about->run->traces[i]->header;

		if (about->run->traces[i]->n_comms && h->pid == host_own_pid(task) &&
		    same_clock(&about->host->header, h) && (!task->pid_ns || !h->pid_ns || task->pid_ns == h->pid_ns))
			return true;
	}
	return false;
}

/* A rank that waits for another one's process, outside of NCCL's calls, meets it: at the store, at a barrier. Whatever that one computes, reads or
 * writes, it is no loader. */
static bool waits_for_a_rank(const struct chain_segment *s, const struct chain_about *about)
{
	for (size_t i = 1; about->communicates && about->run && i < s->n_steps; i++)
		if (task_is_of_the_tree(s->steps[i].task) && !host_same_process(s->steps[i].task, s->steps[0].task) &&
		    is_rank(s->steps[i].task, about))
			return true;
	return false;
}

enum cause_id chain_cause(const struct chain_segment *s, const struct chain_about *about)
{
	enum cause_id cause = of_leaf(s, about);

	if (waits_for_a_network(s))
		return CAUSE_input_network;
	if (cause == CAUSE_cpu_contention || cause == CAUSE_cpu_throttled || cause == CAUSE_memory_stall)
		return cause;
	if (waits_for_a_rank(s, about))
		return CAUSE_comm_host;
	if (compiled(s))
		return CAUSE_module_load;
	return s->n_steps > 1 && hands_over_output(&s->steps[0]) ? CAUSE_output_io : cause;
}
