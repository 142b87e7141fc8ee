/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "burst.h"
#include "cupti.h"
#include "edge.h"
#include "file.h"
#include "gate.h"
#include "hooks.h"
#include "names.h"
#include "once.h"
#include "own_thread.h"
#include "poll.h"
#include "sample.h"
#include "settings.h"
#include "short_slices.h"
#include "stack.h"
#include "stock.h"
#include "stream.h"

/* How long it sleeps. While work may be outstanding unmarked, a silence must be seen within 200 us and its end located within
 * 500. While every thread that matters is in a driver call, until one of them rings, or for a quarter of how long they have been there: who comes
 * back and then does something else rings no bell, and is not to be missed for longer than it was waited for. Else until the next look is due. */
#define TICK_UNMARKED_NS 300000
#define LOOKS_WHILE_BLOCKED 4 /* times as seldom as at silent ones */
#define HARVEST_AT 96         /* … unless this many of one context's have gathered */
#define HARVEST_NS \
	5000000ull /* nothing waits for an edge to be read: seldom, so that few queries meet one that has not fired */
#define WANT_NS 500000000ull
#define SILENT_THREAD_NS 200000ull
#define QUIET_NS 50000ull
#define ALONE_NS 10000000ull

#define AGAIN_NS 1000000000ull /* where no thread is to be had: the program's limits, for the moment perhaps */

static struct once started;
static uint64_t again_ticks; /* it could not be started, and is not tried before; 0: that never happened */
static uint32_t stopping;    /* 1: asked to stop, 2: has stopped */
static struct thread *self;
static uint64_t helper_context; /* current in this thread */
static uint64_t anchors_due_ns[2] = { 10000000, 100000000 };

static bool make_current(uint64_t context)
{
	if (helper_context != context && INJECT(cuCtxSetCurrent, (CUcontext)(uintptr_t)context) == CUDA_SUCCESS)
		helper_context = context;
	return helper_context == context;
}

/* Reading an edge needs its context alive, which an open gate promises. */
static void harvest(void)
{
	static uint64_t last;
	uint64_t now = clock_ticks();
	uint32_t pending = edges_pending();

	if (!pending || (pending < HARVEST_AT && now - last < clock_ticks_in(HARVEST_NS)) || !gate_enter())
		return;
	last = now;
	edges_harvest(&self->ring, make_current);
	gate_leave();
}

/* All that have fired, of every context: the thread that ends the process reads only those of its own. */
static void harvest_last(void)
{
	if (!edges_pending() || !gate_enter())
		return;
	edges_harvest(&self->ring, make_current);
	gate_leave();
}

static void keep_clock(uint64_t now_ns, uint64_t start_ns, uint64_t *last_anchor_ns)
{
	unsigned early = *last_anchor_ns == start_ns ? 0 : 1;

	if (now_ns - *last_anchor_ns < 1000000000u &&
	    (*last_anchor_ns - start_ns >= anchors_due_ns[1] || now_ns - start_ns < anchors_due_ns[early]))
		return;
	names_anchor(&self->ring);
	stacks_note_cost(&self->ring);
	*last_anchor_ns = now_ns;
	own_thread_account();
}

/* Only the program's threads put edges into its streams: they are asked to. */
static void keep_device_clocks(void)
{
	static uint64_t last;
	uint64_t now = clock_ticks();

	polls_silent(&self->ring, make_current);
	if (now - last < clock_ticks_in(WANT_NS))
		return;
	last = now;
	edges_want();
}

/* ---- sleeping ------------------------------------------------------------------------------------------------------- */

uint32_t helper_bell = HELPER_NONE;

/* A sandbox may forbid even that. */
static bool can_sleep = true;

static void slept(long rc)
{
	can_sleep = rc == 0 || errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT;
}

/* bell: what shall wake it. Who puts in work while it rests makes no system call. */
static void bell_wait(enum helper_bell bell, uint64_t ns)
{
	struct timespec t = { 0, (long)ns };

	__atomic_store_n(&helper_bell, bell, __ATOMIC_SEQ_CST);
	bias_fence(); /* who counted work before it could see the bell: the count is seen here */
	if (settings.level < GST_LEVEL_EDGES ||
	    !streams_any_unmarked()) /* work that came before the bell was up did not ring */
		slept(syscall(SYS_futex, &helper_bell, FUTEX_WAIT_PRIVATE, bell, &t, NULL, 0));
	__atomic_store_n(&helper_bell, HELPER_AWAKE, __ATOMIC_RELAXED);
}

void helper_ring(void)
{
	uint32_t bell = __atomic_load_n(&helper_bell, __ATOMIC_RELAXED);

	if ((bell == HELPER_RESTS || bell == HELPER_ASLEEP) &&
	    __atomic_compare_exchange_n(&helper_bell, &bell, HELPER_AWAKE, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		syscall(SYS_futex, &helper_bell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* What the threads that put work into streams are doing. */
struct activity {
	uint64_t last_end; /* ticks of the latest return from a driver call */
	bool any, all_in_call;
	bool segment_ends; /* one of them will need another segment soon */
};

static struct activity look_around(void)
{
	struct activity a = { .all_in_call = true };

	for (unsigned i = 0; i < __atomic_load_n(&thread_slots_used, __ATOMIC_RELAXED); i++) {
		const struct thread_slot *slot = &thread_slots[i];
		uint64_t end = __atomic_load_n(&slot->last_end, __ATOMIC_RELAXED);

		if (!slot->tid || !slot->submits)
			continue;
		a.any = true;
		a.all_in_call &= __atomic_load_n(&slot->in_call, __ATOMIC_RELAXED) != 0;
		a.last_end = end > a.last_end ? end : a.last_end;
		a.segment_ends |= __atomic_load_n(&slot->ring_at, __ATOMIC_RELAXED) > GST_SEGMENT_BYTES / 4 * 3;
	}
	return a;
}

/* What is made in advance is made while nobody waits for a CPU: on a small machine the program's thread would. */
static void keep_stock(void)
{
	struct activity a = look_around();

	if (a.segment_ends)
		stock_begin();
	stock_keep(a.all_in_call || clock_ticks() - a.last_end > clock_ticks_in(QUIET_NS));
}

static void helper_sleep(void)
{
	struct activity a = look_around();
	uint64_t since = clock_ticks() - a.last_end;
	uint64_t ns = sample_interval_ns(since);
	struct timespec t = { 0, TICK_UNMARKED_NS };

	if (settings.level >= GST_LEVEL_EDGES && (streams_any_unmarked() || burst_goes_on()))
		slept(nanosleep(&t,
				NULL)); /* in a burst all work is marked at once: the next launch would have to ring */
	else if (a.any && a.all_in_call && since > clock_ticks_in(SAMPLE_NS_MIN))
		bell_wait(HELPER_ASLEEP, sample_interval_ns(since * LOOKS_WHILE_BLOCKED));
	else /* a thread that goes on putting work in would ring at each launch: the next look is soon enough */
		bell_wait(settings.level < GST_LEVEL_EDGES && ns == SAMPLE_NS_MIN ? HELPER_RESTS : HELPER_ASLEEP, ns);
}

/* A program whose main thread went by pthread_exit ends with the last of the others. That one cannot know that we are none of them. */
static void end_if_alone(uint64_t now_ns)
{
	static uint64_t last_ns;
	sigset_t none;

	if (now_ns - last_ns < ALONE_NS)
		return;
	last_ns = now_ns;
	if (!own_threads_are_alone())
		return;
	polls_end(&self->ring);
	__atomic_store_n(&stopping, 2, __ATOMIC_RELEASE);
	self->depth = 0; /* what the program's exit handlers do is its own doing again */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	exit(0); /* as libc does in the last thread */
}

static void helper_main(void)
{
	uint64_t start_ns = clock_mono_ns(), last_anchor_ns = start_ns;
	CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

	prctl(PR_SET_TIMERSLACK, 1000);
	short_slices();
	samples_begin(); /* early, so that the first accounts know of a quota (throttled.h) */
	self = thread_self();
	if (!self) {
		__atomic_store_n(&stopping, 2, __ATOMIC_RELEASE);
		return;
	}
	self->depth = THREAD_NEVER_RECORDED;                 /* nothing this thread does is the program's doing */
	INJECT(cuThreadExchangeStreamCaptureMode, &relaxed); /* our queries must not break a capture of the program's */
	while (can_sleep && !__atomic_load_n(&stopping, __ATOMIC_ACQUIRE)) {
		helper_sleep();
		keep_stock();
		keep_clock(clock_mono_ns(), start_ns, &last_anchor_ns);
		file_counters()->last_ticks = clock_ticks();
		harvest();
		if (settings.level >= GST_LEVEL_EDGES)
			keep_device_clocks();
		cupti_attend(self);
		samples_ask(clock_ticks_in(SILENT_THREAD_NS));
		end_if_alone(clock_mono_ns());
	}
	polls_end(&self->ring);
	harvest_last();
	own_thread_account();
	__atomic_store_n(&stopping, 2, __ATOMIC_RELEASE);
}

static bool too_early(void)
{
	uint64_t again = __atomic_load_n(&again_ticks, __ATOMIC_RELAXED);

	return again && (clock_ticks() < again || __atomic_load_n(&stopping, __ATOMIC_RELAXED));
}

void helper_start(void)
{
	static const struct own_thread helper = { "gpushim", helper_main };

	if (once_is_done(&started) || too_early() || !once_begin(&started)) {
		helper_ring();
		return;
	}
	__atomic_store_n(&helper_bell, HELPER_AWAKE, __ATOMIC_RELAXED);
	if (own_thread_start(&helper)) {
		once_end(&started, true);
		return;
	}
	if (!again_ticks)
		settings_log("no helper thread: device times will be coarse");
	__atomic_store_n(&again_ticks, clock_ticks() + clock_ticks_in(AGAIN_NS), __ATOMIC_RELAXED);
	__atomic_store_n(&helper_bell, HELPER_NONE, __ATOMIC_RELAXED);
	once_end(&started, false);
}

void helper_stop(void)
{
	struct thread *t = thread_self();
	struct timespec ms = { 0, 1000000 };
	uintptr_t depth;

	if (!t || !(once_is_done(&started) || again_ticks))
		return;
	depth = t->depth;
	t->depth = THREAD_NEVER_RECORDED;
	burst_end(t); /* first: the helper reads its edges yet */
	if (!once_is_done(&started))
		__atomic_store_n(&stopping, 2, __ATOMIC_RELEASE);
	if (__atomic_load_n(&stopping, __ATOMIC_ACQUIRE) == 0)
		__atomic_store_n(&stopping, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 100 && __atomic_load_n(&stopping, __ATOMIC_ACQUIRE) != 2; i++)
		nanosleep(
			&ms,
			NULL); /* it is in a driver call, or starved; the program's end does not wait for it for long */
	if (gate_enter()) {
		edges_harvest(&t->ring, edges_context_is_current);
		gate_leave();
	}
	names_anchor(&t->ring);
	stacks_note_cost(&t->ring);
	__atomic_fetch_add(&gate.closed, 1,
			   __ATOMIC_SEQ_CST); /* nothing of ours enters the driver while it shuts down */
	t->depth = depth;
}

void helper_context_gone(uint64_t context)
{
	if (helper_context == context)
		helper_context = 0; /* the next context at this address is another one */
}

void helper_forget(void)
{
	memset(&started, 0, sizeof(started));
	samples_forget();
	polls_forget();
	helper_bell = HELPER_NONE;
	can_sleep = true;
	stopping = 0;
	again_ticks = 0;
	self = NULL;
	helper_context = 0;
}
