/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack.h"

#include <errno.h>
#include <string.h>

#include "apart.h"
#include "arch.h"
#include "call.h"
#include "clock.h"
#include "own_thread.h"
#include "settings.h"
#include "stack_budget.h"
#include "stack_lock.h"
#include "stack_make.h"
#include "stack_memory.h"
#include "stack_objects.h"
#include "stack_still.h"
#include "stack_walk.h"

#define STALL_NS 100000ull /* as long as a silence (thread_silence_ticks) */
#define LOOK_SHARE 4       /* our own thread may spend so many times the share that the program's may */
#define PATIENCE_SHARE 64  /* of what is to be told of */
#define PATIENCE_NS 200000ull
#define SITES 16384u

uint64_t stacks_stall_ticks = UINT64_MAX;

static bool reads;       /* the kernel answers stack_memory.c's questions; with the lock */
static uint32_t refused; /* … and does not any more, or never did: there are no stacks */

/* Places that submitted already: who is at the table's place of the same number forgets the other, which is then told of twice. */
static uint32_t sites[SITES];

static struct thread_stacks looks;
static struct {
	uint64_t taken_ticks, taken, looks, passed, failed, frames;
} cost;

static void count(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* ---- what it may cost --------------------------------------------------------------------------------------------------- */

void stacks_thread_begins(struct thread *t, uint64_t ticks)
{
	t->stacks = (struct thread_stacks){ .credited = ticks, .began = ticks };
	if (!own_thread_here())
		stack_budget_thread_begins(&t->stacks, ticks, settings.stacks_ppm);
}

void stacks_thread_ended(struct thread *t)
{
	if (!own_thread_here())
		stack_budget_thread_ended(&t->stacks, clock_ticks(), settings.stacks_ppm);
}

static void set_stall_ticks(uint64_t ticks)
{
	__atomic_store_n(&stacks_stall_ticks, ticks, __ATOMIC_RELAXED);
}

void stacks_begin(void)
{
	set_stall_ticks(settings.stacks_ppm ? clock_ticks_in(STALL_NS) : UINT64_MAX);
	stack_budget_begin(clock_ticks());
	looks = (struct thread_stacks){ .credit = (int64_t)clock_ticks_in(STACK_CREDIT_NS), .credited = clock_ticks() };
}

/* How long what lasted so long may wait for its stack: a look from outside, at the very thread perhaps, is done by then. */
static uint64_t patience_for(uint64_t ticks)
{
	uint64_t most = clock_ticks_in(PATIENCE_NS);

	return ticks / PATIENCE_SHARE < most ? ticks / PATIENCE_SHARE : most;
}

/* ---- records ------------------------------------------------------------------------------------------------------------ */

static bool is_refused(void)
{
	return __atomic_load_n(&refused, __ATOMIC_RELAXED);
}

/* What the kernel refuses now, as a sandbox that has begun, it refuses later: nothing is asked again, and the trace says so. */
static void give_up(struct ring *r)
{
	__atomic_store_n(&refused, 1, __ATOMIC_RELAXED);
	set_stall_ticks(UINT64_MAX);
	stacks_note_cost(r);
}

/* With the lock. */
static uint32_t take(struct ring *r, const struct stack_registers *from, uint32_t tid, const struct stack_still *other,
		     unsigned *n_frames)
{
	uint32_t id = 0;

	*n_frames = 0;
	if (!is_refused() && (reads = reads || stack_memory_works()))
		id = stack_make(r, from, tid, other, n_frames);
	if (*n_frames > 1 || (!is_refused() && stack_memory_works()))
		return id;
	give_up(r); /* one frame is where it was: that asks for nothing */
	return 0;
}

static void write_at(struct ring *r, struct gst_stack_at *at)
{
	ring_append(r, GST_STACK_AT, sizeof(*at), at);
}

/* ---- a thread's own stack ----------------------------------------------------------------------------------------------- */

static uint32_t take_own(struct thread *t, uint64_t patience)
{
	struct stack_registers here = { .fp_known = true };
	int saved_errno = errno;
	struct undisturbed u;
	unsigned n_frames;
	uint32_t id = 0;

	arch_registers(&here.pc, &here.sp, &here.fp);
	undisturbed_begin(&u);
	if (stack_lock_take(patience)) {
		id = take(&t->ring, &here, t->tid, NULL, &n_frames);
		count(&cost.taken, id != 0);
		count(&cost.failed, !id);
		count(&cost.frames, n_frames);
		stack_lock_give();
	} else {
		count(&cost.passed, 1);
	}
	undisturbed_end(&u);
	errno = saved_errno;
	return id;
}

/* The stack of this moment, in which the thread's call began: once for all reasons. */
static uint32_t stack_of(struct thread *t, uint64_t moment, uint64_t ended, uint64_t patience)
{
	struct thread_stacks *s = &t->stacks;
	uint64_t begin = clock_ticks();

	if (s->last_begin == moment)
		return s->last_stack;
	stack_budget_update(s, begin, settings.stacks_ppm);
	if (s->credit <= 0) {
		count(&cost.passed, 1);
		return 0;
	}
	s->last_stack = take_own(t, patience);
	s->last_begin = moment;
	s->last_end = ended;
	s->last_ticks = clock_ticks() - begin;
	s->credit -= (int64_t)s->last_ticks;
	t->injected_ticks += s->last_ticks; /* self_time.c takes it for none of the recording's */
	count(&cost.taken_ticks, s->last_ticks);
	return s->last_stack;
}

/* False: it was not to be had. */
static bool tell(struct call *c, enum gst_stack_why why, uint64_t begin, uint64_t end, uint32_t weight)
{
	struct gst_stack_at at = { .begin = begin,
				   .end = end,
				   .tid = c->thread->tid,
				   .why = (uint16_t)why,
				   .hook = c->record.hook,
				   .weight = weight };

	at.stack = stack_of(c->thread, c->record.begin, c->record.end, patience_for(end - begin));
	if (at.stack)
		write_at(&c->thread->ring, &at);
	return at.stack;
}

/* The same place: the same call, from the same instruction, as deep in the stack, of the same kernel. */
static uint64_t hash_site(const struct call *c, const void *caller)
{
	uint64_t h =
		((uint64_t)(uintptr_t)c * 0x9e3779b97f4a7c15ull ^ (uint64_t)(uintptr_t)caller) * 0xff51afd7ed558ccdull;

	return (h ^ h >> 32 ^ c->record.name ^ (uint64_t)c->record.hook << 40) * 0xff51afd7ed558ccdull;
}

static void tell_new_site(struct call *c, const void *caller)
{
	uint64_t h = hash_site(c, caller);
	uint32_t *site = &sites[h % SITES], mark = (uint32_t)(h >> 32) | 1;

	if (__builtin_expect(__atomic_load_n(site, __ATOMIC_RELAXED) == mark, 1))
		return;
	stack_budget_update(&c->thread->stacks, c->record.end, settings.stacks_ppm);
	if (c->thread->stacks.credit > 0 && tell(c, GST_STACK_SITE, c->record.begin, c->record.end, 1))
		__atomic_store_n(site, mark, __ATOMIC_RELAXED);
}

static uint64_t stall_ticks(void)
{
	return __atomic_load_n(&stacks_stall_ticks, __ATOMIC_RELAXED);
}

void stacks_call_ended(struct call *c, const void *caller)
{
	if (c->role == CALL_SUBMITS)
		tell_new_site(c, caller);
	if (c->record.end - c->record.begin > stall_ticks())
		tell(c, GST_STACK_STALL, c->record.begin, c->record.end, 1);
}

void stacks_refused(struct call *c)
{
	if (stacks_are_on() && c->record.end - c->record.begin <= stall_ticks()) /* else it is told of anyway */
		tell(c, GST_STACK_STALL, c->record.begin, c->record.end, 1);
}

/* A signal handler's call must not come in between, as in thread_append. */
void stacks_refused_by_framework(struct thread *t, uint64_t ticks)
{
	struct gst_stack_at at = {
		.begin = ticks, .end = ticks, .tid = t->tid, .why = GST_STACK_STALL, .hook = UINT16_MAX, .weight = 1
	};

	if (!stacks_are_on() || t->depth)
		return;
	t->depth = (uintptr_t)__builtin_frame_address(0);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	at.stack = stack_of(t, ticks, ticks, 0);
	if (at.stack)
		write_at(&t->ring, &at);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->depth = 0;
}

bool stacks_silence(struct thread *t, uint64_t since, uint64_t until)
{
	struct thread_stacks *s = &t->stacks;
	uint64_t ours = s->last_end == since ? s->last_ticks : 0;

	s->silent_since = since;
	return stacks_are_on() && since != s->began && until - since > thread_silence_ticks + ours;
}

void stacks_silence_ended(struct call *c)
{
	if (stacks_are_on())
		tell(c, GST_STACK_SILENCE, c->thread->stacks.silent_since, c->record.begin, 1);
}

/* Samples leave a quarter of what may be saved up to what is known to matter. */
void stacks_drawn(struct call *c, uint32_t calls)
{
	struct thread_stacks *s = &c->thread->stacks;

	if (!stacks_are_on())
		return;
	s->calls += calls;
	stack_budget_update(s, c->record.end, settings.stacks_ppm);
	if (s->credit > (int64_t)clock_ticks_in(STACK_CREDIT_NS / 4) &&
	    tell(c, GST_STACK_SAMPLE, c->record.begin, c->record.end, s->calls))
		s->calls = 0;
}

/* ---- another thread's --------------------------------------------------------------------------------------------------- */

void stacks_look(struct ring *r, const struct stack_still *there, uint64_t since, uint64_t ticks)
{
	struct stack_registers from = { .pc = there->pc, .sp = there->sp };
	struct gst_stack_at at = {
		.begin = since, .end = ticks, .tid = there->tid, .why = GST_STACK_LOOK, .hook = UINT16_MAX, .weight = 1
	};
	uint64_t begin = clock_ticks();
	unsigned n_frames;

	if (!stacks_are_on())
		return;
	stack_budget_update(&looks, begin, (uint64_t)settings.stacks_ppm * LOOK_SHARE);
	if (looks.credit <= 0 || !stack_lock_take(0)) {
		count(&cost.passed, 1);
		return;
	}
	at.stack = take(r, from.sp && from.pc ? &from : NULL, there->tid, there, &n_frames);
	stack_lock_give();
	if (at.stack) {
		write_at(r, &at);
		count(&cost.looks, 1);
	}
	looks.credit -= (int64_t)(clock_ticks() - begin);
}

uint32_t stacks_python_holder(uint64_t futex)
{
	uint32_t tid;

	if (!stacks_are_on() || !stack_lock_take(0))
		return 0;
	tid = stack_make_holder(futex);
	stack_lock_give();
	return tid;
}

/* ---- what it has cost --------------------------------------------------------------------------------------------------- */

static uint64_t noted; /* of what the last GST_STACK_COST told */

void stacks_note_cost(struct ring *r)
{
	struct gst_stack_cost c = {
		.ticks = clock_ticks(),
		.taken_ticks = __atomic_load_n(&cost.taken_ticks, __ATOMIC_RELAXED),
		.taken = __atomic_load_n(&cost.taken, __ATOMIC_RELAXED),
		.looks = __atomic_load_n(&cost.looks, __ATOMIC_RELAXED),
		.passed = __atomic_load_n(&cost.passed, __ATOMIC_RELAXED),
		.failed = __atomic_load_n(&cost.failed, __ATOMIC_RELAXED),
		.frames = __atomic_load_n(&cost.frames, __ATOMIC_RELAXED),
		.stacks = (uint32_t)stack_make_told(),
		.untracked = stack_objects_left_out(),
		.budget_ppm = settings.stacks_ppm,
		.python = stack_make_python() | (is_refused() ? GST_STACKS_REFUSED : 0),
	};
	uint64_t sum = (c.taken + c.looks + c.passed + c.failed) * 2 + is_refused();

	if (sum && __atomic_exchange_n(&noted, sum, __ATOMIC_RELAXED) != sum)
		ring_append(r, GST_STACK_COST, sizeof(c), &c);
}

void stacks_forget(void)
{
	memset(sites, 0, sizeof(sites));
	memset(&cost, 0, sizeof(cost));
	noted = 0;
	stack_lock_forget();
	stack_make_forget();
}
