/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline.c: the discrete-event model. Two heaps by time: operations whose next step is due (actions), operations whose
 * end is known (endings). timeline_advance takes the earlier of the two tops until it reaches now, so steps happen in the
 * order of their times however late anyone calls, and bytes move in the order of the dependencies.
 * Work that takes real time has no known end until it was done; what waits for it stays BLOCKED and is resolved then. */
#include "timeline.h"

#include "driver_thread.h"
#include "observer.h"
#include "op.h"
#include "op_wait.h"
#include "settings.h"
#include "truth_log.h"
#include "turns.h"
#include "watch.h"

enum { WAKE_NS = 80000 /* what a sleeping waiter needs to be awake; see timeline_finish_real_time */ };

struct device {
	uint64_t slot_free_ns[SIM_KERNEL_SLOTS];
	struct engine to_device, to_host;
	unsigned outstanding; /* launches not yet done */
};

static struct device devices[SIM_MAX_DEVICES];
static struct op_heap actions, endings;
static struct op_queue due_host_functions, due_transfers;
static struct op_queue unblocked; /* ready, next step not yet decided: a queue instead of recursion over long streams */
static unsigned small_transfers;  /* in endings, with bytes to move */
static bool finishing;

struct engine *timeline_engine(int device, enum copy_kind copy)
{
	struct engine *engine;

	switch (copy) {
	case COPY_H2D_PAGEABLE:
	case COPY_H2D_PINNED:
		engine = &devices[device].to_device;
		break;
	case COPY_D2H_PAGEABLE:
	case COPY_D2H_PINNED:
	case COPY_PEER:
		engine = &devices[device].to_host;
		break;
	default:
		return NULL;
	}
	engine->device = device;
	return engine;
}

/* The slot that has been free for the shortest time, or else the first to become free. */
static uint64_t *find_kernel_slot(int device, uint64_t earliest_ns)
{
	uint64_t *slots = devices[device].slot_free_ns;
	unsigned best = 0;

	for (unsigned i = 1; i < SIM_KERNEL_SLOTS; i++) {
		bool fits = slots[i] <= earliest_ns, best_fits = slots[best] <= earliest_ns;

		if (fits ? !best_fits || slots[i] > slots[best] : !best_fits && slots[i] < slots[best])
			best = i;
		if (slots[best] == earliest_ns)
			break;
	}
	return &slots[best];
}

uint64_t timeline_slot_free_ns(int device, uint64_t earliest_ns)
{
	uint64_t free_ns = *find_kernel_slot(device, earliest_ns);

	return earliest_ns > free_ns ? earliest_ns : free_ns;
}

static void take_kernel_slot(struct op *op)
{
	uint64_t *slot = find_kernel_slot(op->device, op->ready_ns);

	op->start_ns = op->ready_ns > *slot ? op->ready_ns : *slot;
	*slot = op->start_ns + op->duration_ns;
}

/* The end is known: tell the waiters. Those that wait for nothing more go to `unblocked`. */
static void resolve(struct op *op, uint64_t end_ns)
{
	op->stage = STAGE_RESOLVED;
	op->end_ns = end_ns;
	if (op->release_ns < end_ns)
		op->release_ns = end_ns;
	op->due_ns = end_ns;
	if (op->transfer.bytes)
		small_transfers++;
	op_heap_push(&endings, op_ref(op));
	for (unsigned i = 0; i < op->waiter_count; i++) {
		struct op *waiter = op->waiters[i];

		if (op->release_ns + waiter->gap_ns > waiter->ready_ns)
			waiter->ready_ns = op->release_ns + waiter->gap_ns;
		if (--waiter->blockers == 0 && waiter->stage == STAGE_BLOCKED)
			op_queue_push(&unblocked, waiter); /* with the reference it was waiting under */
		else
			op_unref(waiter);
	}
	op->waiter_count = 0;
}

static void schedule(struct op *op, enum op_stage stage, uint64_t due_ns)
{
	op->stage = stage;
	op->due_ns = due_ns;
	op_heap_push(&actions, op_ref(op));
	if (!op->owned && !op->awaited)
		driver_thread_expect(due_ns);
}

/* An operation that is ready takes its engine, unless one before it has no end yet. */
static void place(struct op *op)
{
	struct engine *engine = op->engine;

	if (engine->holder) {
		op_queue_push(&engine->queue, op_ref(op));
		return;
	}
	op->start_ns = op->ready_ns > engine->free_ns ? op->ready_ns : engine->free_ns;
	if (op->takes_real_time) {
		engine->holder = op;
		schedule(op, STAGE_SCHEDULED, op->start_ns);
		return;
	}
	engine->free_ns = op->start_ns + op->duration_ns;
	resolve(op, engine->free_ns);
	if (!op->awaited)
		driver_thread_expect_data(op->end_ns);
}

static void release_engine(struct op *op)
{
	struct engine *engine = op->engine;
	struct op *next;

	if (turns_concern(op)) {
		turns_end(op);
		return;
	}
	if (!engine || engine->holder != op)
		return;
	engine->holder = NULL;
	engine->free_ns = op->end_ns;
	while (!engine->holder && (next = op_queue_pop(&engine->queue))) {
		place(next);
		op_unref(next);
	}
}

/* Nothing submitted from now on can be ready earlier, and nothing known will be: no need to wait for the moment. */
static bool can_place_now(const struct op *op)
{
	return op->engine->approaching == 0 && op->ready_ns <= clock_now_ns() + settings()->latency_ns;
}

/* Nothing but a kernel slot can hold it up any more. */
static void begin(struct op *op)
{
	op->start_ns = op->ready_ns;
	if (op->takes_real_time) {
		schedule(op, STAGE_SCHEDULED, op->start_ns);
		return;
	}
	if (!op->engine && op->kind != OP_EVENT)
		take_kernel_slot(op);
	resolve(op, op->start_ns + op->duration_ns);
	if (op->transfer.bytes && !op->awaited)
		driver_thread_expect_data(op->end_ns);
}

static void take_next_step(struct op *op)
{
	if (turns_concern(op)) {
		turns_submit(op);
		return;
	}
	switch (op->kind) {
	case OP_EVENT:
	case OP_WAIT:
		op->start_ns = op->ready_ns;
		if (op->watch.address) {
			schedule(op, STAGE_SCHEDULED, op->ready_ns);
			break;
		}
		resolve(op, op->ready_ns);
		if (op->transfer.bytes)
			driver_thread_expect(op->ready_ns); /* the host may be looking for the value */
		break;
	case OP_HOSTFN:
		schedule(op, STAGE_SCHEDULED, op->ready_ns);
		break;
	default:
		if (op->engine && can_place_now(op)) {
			place(op);
		} else if (op->engine) {
			op->engine->approaching++;
			schedule(op, STAGE_PLACING, op->ready_ns);
		} else {
			begin(op);
		}
	}
}

static void drain_unblocked(void)
{
	struct op *op;

	while ((op = op_queue_pop(&unblocked))) {
		take_next_step(op);
		op_unref(op);
	}
}

void timeline_start(struct op *op, uint64_t start_ns)
{
	op->ready_ns = start_ns;
	begin(op);
	drain_unblocked();
}

void timeline_look_at(struct op *look, uint64_t when_ns)
{
	schedule(look, STAGE_TURN, when_ns);
}

void op_submit(struct op *op)
{
	if (op->blockers == 0) {
		op_queue_push(&unblocked, op_ref(op));
		drain_unblocked();
	}
}

static void take_action(struct op *op)
{
	if (op->stage == STAGE_TURN) {
		turns_look(op);
	} else if (op->stage == STAGE_PLACING) {
		op->engine->approaching--;
		place(op);
	} else if (op->watch.address || op->run) {
		op->stage = STAGE_DUE;
		watch_add(op);
		driver_thread_expect(op->due_ns);
	} else if (finishing && op->kind != OP_HOSTFN) {
		resolve(op, op->start_ns + op->duration_ns);
		release_engine(op);
	} else {
		op->stage = STAGE_DUE;
		if (op->kind == OP_HOSTFN)
			op_queue_push(&due_host_functions, op_ref(op));
		else if (!op->owned)
			op_queue_push(&due_transfers, op_ref(op));
		if (!op->owned)
			driver_thread_expect(op->due_ns);
	}
	drain_unblocked();
}

static void finish(struct op *op)
{
	if (op->transfer.bytes) {
		small_transfers--;
		if (!op->takes_real_time && !finishing)
			transfer_move(&op->transfer);
	}
	if (op->counted)
		devices[op->device].outstanding--;
	op->stage = STAGE_DONE;
	truth_log_op(op);
	observer_op(op);
}

static void take_steps(uint64_t now_ns)
{
	for (;;) {
		struct op *action = op_heap_top(&actions), *ending = op_heap_top(&endings);

		/* On a tie the ending goes first: its bytes may be what the action copies on. */
		if (ending && ending->due_ns <= now_ns && (!action || ending->due_ns <= action->due_ns)) {
			finish(op_heap_pop(&endings));
			op_unref(ending);
		} else if (action && action->due_ns <= now_ns) {
			take_action(op_heap_pop(&actions));
			op_unref(action);
		} else {
			return;
		}
	}
}

/* Something really happened just now. Who sleeps until then needs time to wake: where the end is ours to choose it lies that
 * far ahead, so that a synchronise still returns at the true end. A host function ends when it ended; there the operations
 * behind it start later instead. */
void timeline_finish_real_time(struct op *op, uint64_t now_ns)
{
	uint64_t wake_ns = waiters_asleep() ? WAKE_NS : 0;
	uint64_t end_ns = now_ns;

	if (op->kind == OP_HOSTFN) {
		op->release_ns = now_ns + (wake_ns > settings()->latency_ns ? wake_ns : settings()->latency_ns);
	} else if (end_ns < op->start_ns + op->duration_ns) {
		end_ns = op->start_ns + op->duration_ns;
	} else {
		end_ns += wake_ns;
	}
	resolve(op, end_ns);
	release_engine(op);
	drain_unblocked();
	waiters_wake();
}

void timeline_advance(uint64_t now_ns)
{
	struct op *satisfied;

	take_steps(now_ns);
	while (!finishing && (satisfied = watch_satisfied(now_ns))) {
		timeline_finish_real_time(satisfied, now_ns);
		op_unref(satisfied);
		take_steps(now_ns);
	}
}

uint64_t timeline_next_step_ns(void)
{
	struct op *action = op_heap_top(&actions), *ending = op_heap_top(&endings);
	uint64_t next_ns = action ? action->due_ns : UINT64_MAX;

	return ending && ending->due_ns < next_ns ? ending->due_ns : next_ns;
}

bool timeline_take_room(int device)
{
	if (devices[device].outstanding >= settings()->queue_depth)
		return false;
	devices[device].outstanding++;
	return true;
}

void timeline_return_room(int device)
{
	devices[device].outstanding--;
}

void timeline_finish(void)
{
	finishing = true;
	turns_close();
	timeline_advance(UINT64_MAX);
}

struct op *timeline_due_host_function(void)
{
	return op_queue_pop(&due_host_functions);
}

struct op *timeline_due_transfer(void)
{
	return op_queue_pop(&due_transfers);
}

bool timeline_take_due_transfer(struct op *op)
{
	return op_queue_remove(&due_transfers, op);
}

uint64_t timeline_next_action_ns(void)
{
	struct op *action = op_heap_top(&actions);

	return action ? action->due_ns : UINT64_MAX;
}

uint64_t timeline_next_data_ns(void)
{
	return small_transfers ? op_heap_top(&endings)->due_ns : UINT64_MAX;
}
