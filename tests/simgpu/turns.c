/* SPDX-License-Identifier: BSD-2-Clause */
#include "turns.h"

#include "op.h"
#include "settings.h"
#include "shared.h"

enum {
	TURN_NS = 2000000, /* README.md says where the two figures come from */
	SWITCH_NS = 20000,
	RETRY_NS = 100000,     /* between looks for something whose time is unknown */
	ABSENT_NS = 500000000, /* whoever does not take its turn for so long is passed over */
	LOOK_NS = 10000000     /* at least so often, for processes that died */
};

struct turn_queue {
	struct op_heap waiting; /* by ready_ns */
	uint64_t look_ns;       /* when to look again; 0: no look is under way */
	bool deciding;
};

static struct turn_queue queues[SIM_MAX_DEVICES][GATE_KINDS];
static uint64_t reaped_ns;
static bool closed;

bool turns_concern(const struct op *op)
{
	return shared_on() && (op->kind == OP_KERNEL || op->engine || (op->kind == OP_EVENT && !op->after_copy));
}

/* What it takes turns for; a copy between devices needs an engine of the one that sends. */
static int gate_device(const struct op *op)
{
	return op->engine ? op->engine->device : op->device;
}

static enum gate_kind gate_kind(const struct op *op)
{
	if (!op->engine)
		return GATE_KERNELS;
	return op->copy == COPY_H2D_PAGEABLE || op->copy == COPY_H2D_PINNED ? GATE_TO_DEVICE : GATE_TO_HOST;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- the rule -------------------------------------------------------------------------------------------- */

/* The process in this slot wants the device at that moment. One that does not come (stopped, by a debugger say) has its wish
 * taken back, and wishes again when it goes on. */
static bool wants(struct gate *gate, unsigned slot, uint64_t moment_ns, uint64_t now_ns)
{
	uint64_t wanted_ns = gate->wanted_ns[slot];

	if (!wanted_ns || wanted_ns > moment_ns)
		return false;
	if (now_ns <= later(wanted_ns, gate->busy_until_ns) + ABSENT_NS)
		return true;
	gate->wanted_ns[slot] = 0;
	return false;
}

static bool others_want(struct gate *gate, uint64_t moment_ns, uint64_t now_ns)
{
	for (unsigned slot = 0; slot < SHARED_PROCESSES; slot++)
		if (slot != shared_slot() && wants(gate, slot, moment_ns, now_ns))
			return true;
	return false;
}

/* Round the slots, from the one after the last holder. */
static bool my_turn_is_next(struct gate *gate, uint64_t moment_ns, uint64_t now_ns)
{
	for (unsigned i = 1; i <= SHARED_PROCESSES; i++) {
		unsigned slot = (gate->holder_slot + i) % SHARED_PROCESSES;

		if (slot == shared_slot())
			return true;
		if (wants(gate, slot, moment_ns, now_ns))
			return false;
	}
	return true;
}

/* In the turn of this process. */
static bool may_go_on(struct gate *gate, const struct op *op, uint64_t now_ns, uint64_t *when_ns)
{
	bool engine = op->engine != NULL;
	uint64_t soon_ns = now_ns + settings()->latency_ns; /* nothing submitted from now on is ready earlier */
	uint64_t ready_ns = later(op->ready_ns, gate->begin_ns);
	uint64_t from_ns = engine                  ? later(ready_ns, gate->busy_until_ns)
			   : op->kind == OP_KERNEL ? timeline_slot_free_ns(op->device, ready_ns)
						   : ready_ns;
	bool no_idle = ready_ns <= gate->busy_until_ns;
	uint64_t moment_ns = ready_ns;

	*when_ns = from_ns;
	if (no_idle && op->kind == OP_EVENT)
		return true;
	if (no_idle && from_ns < gate->turn_end_ns && (!engine || ready_ns <= soon_ns))
		return true;
	if (no_idle && from_ns >= gate->turn_end_ns)
		moment_ns = later(ready_ns, gate->turn_end_ns);
	if (moment_ns > soon_ns) {
		*when_ns = moment_ns;
		return false;
	}
	if (others_want(gate, later(moment_ns, gate->busy_until_ns), now_ns)) {
		*when_ns = later(gate->busy_until_ns, now_ns + RETRY_NS);
		return false;
	}
	gate->turn_end_ns = from_ns + TURN_NS;
	return true;
}

/* In the turn of another process, or nobody's. */
static bool may_take_over(struct gate *gate, const struct op *op, uint64_t now_ns, uint64_t *when_ns)
{
	uint64_t moment_ns = later(op->ready_ns, gate->busy_until_ns);

	if (gate->busy_until_ns > now_ns || op->ready_ns > now_ns + settings()->latency_ns) {
		*when_ns = moment_ns;
		return false;
	}
	if (!my_turn_is_next(gate, moment_ns, now_ns)) {
		*when_ns = now_ns + RETRY_NS;
		return false;
	}
	*when_ns = moment_ns + (gate->holder ? SWITCH_NS : 0);
	/* The holder first: if this process is killed before the last line, whatever is there is a dead process's. */
	gate->holder = shared_id();
	gate->holder_slot = shared_slot();
	gate->begin_ns = *when_ns;
	gate->turn_end_ns = *when_ns + TURN_NS;
	return true;
}

/* May it start, and when? If not: when to ask again. */
static bool ask(struct gate *gate, const struct op *op, uint64_t now_ns, uint64_t *when_ns)
{
	if (gate->open) {
		*when_ns = later(gate->busy_until_ns, now_ns + RETRY_NS);
		return false;
	}
	if (gate->holder == shared_id())
		return may_go_on(gate, op, now_ns, when_ns);
	return may_take_over(gate, op, now_ns, when_ns);
}

/* ---- the queue of this process --------------------------------------------------------------------------- */

static void look_at(int device, enum gate_kind kind, uint64_t when_ns, uint64_t now_ns)
{
	struct turn_queue *queue = &queues[device][kind];
	struct op *look;

	if (when_ns > now_ns + LOOK_NS)
		when_ns = now_ns + LOOK_NS;
	if (queue->look_ns && queue->look_ns <= when_ns)
		return;
	look = op_new(OP_WAIT, device);
	if (!look)
		return;
	queue->look_ns = when_ns;
	look->gate = (uint8_t)kind;
	timeline_look_at(look, when_ns);
	op_unref(look);
}

static void start(struct gate *gate, struct op *op, uint64_t start_ns)
{
	gate->busy_until_ns = later(gate->busy_until_ns, start_ns + op->duration_ns);
	gate->open = op->takes_real_time;
	timeline_start(op, start_ns);
}

static void reap_now_and_then(uint64_t now_ns)
{
	if (now_ns < reaped_ns + LOOK_NS)
		return;
	reaped_ns = now_ns;
	shared_reap();
}

/* Starts what may start. What that unblocks comes back here through turns_submit and is looked at in the same loop. */
static void decide(int device, enum gate_kind kind)
{
	struct turn_queue *queue = &queues[device][kind];
	struct gate *gate = shared_gate(device, kind);
	uint64_t now_ns = clock_now_ns(), when_ns = 0;
	struct op *op;

	if (queue->deciding || closed)
		return;
	queue->deciding = true;
	shared_lock();
	while ((op = op_heap_top(&queue->waiting)) && ask(gate, op, now_ns, &when_ns)) {
		op_heap_pop(&queue->waiting);
		start(gate, op, when_ns);
		op_unref(op);
	}
	gate->wanted_ns[shared_slot()] = op ? op->ready_ns : 0;
	if (op) {
		look_at(device, kind, when_ns, now_ns);
		reap_now_and_then(now_ns);
	}
	shared_unlock();
	queue->deciding = false;
}

void turns_submit(struct op *op)
{
	int device = gate_device(op);
	enum gate_kind kind = gate_kind(op);

	op->stage = STAGE_TURN;
	op->due_ns = op->ready_ns;
	op_heap_push(&queues[device][kind].waiting, op_ref(op));
	decide(device, kind);
}

void turns_end(struct op *op)
{
	struct gate *gate = shared_gate(gate_device(op), gate_kind(op));

	shared_lock();
	gate->busy_until_ns = op->end_ns;
	gate->open = 0;
	shared_unlock();
	decide(gate_device(op), gate_kind(op));
}

void turns_look(const struct op *look)
{
	queues[look->device][look->gate].look_ns = 0;
	decide(look->device, look->gate);
}

void turns_close(void)
{
	closed = true;
}
