/* SPDX-License-Identifier: BSD-2-Clause */
/* op_wait.c: threads that wait for the model: asleep while the moment is far, spinning when it is near, and meanwhile doing the work
 * that takes real time, if they wait for it or nobody else can. */
#include "op_wait.h"

#include <pthread.h>

enum {
	SPIN_NS = 120000,  /* a sleeping waiter wakes this long before the end and spins */
	STALL_NS = 1000000 /* how long to sleep for something whose time is unknown */
};

static bool host_function_running;
static unsigned sleepers; /* threads asleep until an unknown end becomes known */
static pthread_cond_t progress;
static pthread_once_t progress_once = PTHREAD_ONCE_INIT;

static void progress_init(void)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&progress, &attributes);
}

static void sleep_for_progress(uint64_t until_ns)
{
	struct timespec until = { .tv_sec = (time_t)(until_ns / NSEC_PER_SEC),
				  .tv_nsec = (long)(until_ns % NSEC_PER_SEC) };

	pthread_once(&progress_once, progress_init);
	sleepers++;
	pthread_cond_timedwait(&progress, sim_mutex(), &until);
	sleepers--;
}

bool waiters_asleep(void)
{
	return sleepers > 0;
}

void waiters_wake(void)
{
	pthread_once(&progress_once, progress_init);
	pthread_cond_broadcast(&progress);
}

/* ---- work that is due ------------------------------------------------------------------------------------ */

static __thread bool in_host_function;

bool timeline_in_host_function(void)
{
	return in_host_function;
}

static void call_host(const struct host_call *call)
{
	in_host_function = true;
	if (call->callback)
		call->callback(call->stream, CUDA_SUCCESS, call->argument);
	else
		call->function(call->argument);
	in_host_function = false;
}

void op_run_due(struct op *op)
{
	uint64_t now_ns;

	op->stage = STAGE_RUNNING;
	if (op->kind == OP_HOSTFN) {
		op->start_ns = clock_now_ns();
		host_function_running = true;
	}
	sim_unlock();
	if (op->kind == OP_HOSTFN)
		call_host(&op->call);
	else
		transfer_move(&op->transfer);
	now_ns = clock_now_ns();
	sim_lock();
	if (op->kind == OP_HOSTFN)
		host_function_running = false;
	timeline_finish_real_time(op, now_ns);
}

/* ---- waiting --------------------------------------------------------------------------------------------- */

/* One round of waiting for a moment that may move: asleep while it is far, spinning when it is near. */
static void wait_for_step(uint64_t next_ns, enum wait_how how)
{
	uint64_t now_ns = clock_now_ns();

	if (next_ns == UINT64_MAX) {
		sleep_for_progress(now_ns + STALL_NS);
	} else if (how == WAIT_SLEEP) {
		sleep_for_progress(next_ns);
	} else if (next_ns > now_ns + SPIN_NS) {
		sleep_for_progress(next_ns - SPIN_NS);
	} else {
		sim_unlock();
		clock_spin_until(next_ns);
		sim_lock();
	}
}

/* The end does not move any more. */
static void wait_for_end(uint64_t end_ns, enum wait_how how)
{
	uint64_t now_ns = clock_now_ns();

	sim_unlock();
	if (how == WAIT_SLEEP)
		clock_sleep_until(end_ns);
	else if (end_ns > now_ns + SPIN_NS)
		clock_sleep_until(end_ns - SPIN_NS);
	clock_spin_until(end_ns);
	sim_lock();
}

/* A waiter moves the bytes it waits for, and any bytes while the driver thread is inside a host function. */
static bool help(struct op *op)
{
	struct op *due = NULL;

	if (op && op->stage == STAGE_DUE && timeline_take_due_transfer(op))
		due = op;
	else if (host_function_running)
		due = timeline_due_transfer();
	if (!due)
		return false;
	op_run_due(due);
	op_unref(due);
	return true;
}

void op_wait(struct op *op, enum wait_how how)
{
	op_ref(op);
	for (;;) {
		timeline_advance(clock_now_ns());
		if (op->stage == STAGE_DONE)
			break;
		if (op->stage == STAGE_RESOLVED)
			wait_for_end(op->end_ns, how);
		else if (!help(op))
			wait_for_step(timeline_next_step_ns(), how);
	}
	op_unref(op);
}

void op_run_owned(struct op *op)
{
	for (;;) {
		timeline_advance(clock_now_ns());
		if (op->stage == STAGE_DUE) {
			op_run_due(op);
			return;
		}
		wait_for_step(timeline_next_step_ns(), WAIT_SPIN);
	}
}

void timeline_wait_for_room(int device)
{
	for (;;) {
		timeline_advance(clock_now_ns());
		if (timeline_take_room(device))
			return;
		if (!help(NULL))
			wait_for_step(timeline_next_step_ns(), WAIT_SPIN);
	}
}
