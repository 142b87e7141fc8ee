/* SPDX-License-Identifier: BSD-2-Clause */
#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apart.h"
#include "burst.h"
#include "glibc.h"
#include "call.h"
#include "cupti.h"
#include "file.h"
#include "hooks.h"
#include "memory_kind.h"
#include "names.h"
#include "nccl_call.h"
#include "nvtx.h"
#include "own_thread.h"
#include "segment.h"
#include "stream.h"
#include "throttled.h"

__thread struct thread thread_storage = { .generation = UINT32_MAX };
struct thread_slot thread_slots[THREAD_SLOTS];
uint32_t thread_slots_used;
uint64_t thread_silence_ticks;

static struct thread_slot spare_slot; /* for threads beyond the table: recorded, but not watched */
static pthread_key_t end_key;
static uint32_t end_key_made;

static struct thread_slot *slot_take(uint32_t tid)
{
	uint32_t used = __atomic_load_n(&thread_slots_used, __ATOMIC_RELAXED);

	for (unsigned i = 0; i < THREAD_SLOTS; i++) {
		uint32_t free_tid = 0;

		if (__atomic_load_n(&thread_slots[i].tid, __ATOMIC_RELAXED) != 0 ||
		    !__atomic_compare_exchange_n(&thread_slots[i].tid, &free_tid, tid, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		while (used <= i && !__atomic_compare_exchange_n(&thread_slots_used, &used, i + 1, true,
								 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			;
		return &thread_slots[i];
	}
	return &spare_slot;
}

bool thread_slot_is_own(const struct thread_slot *slot)
{
	return slot != &spare_slot;
}

static void give_back(struct thread *t)
{
	call_abandon(t);
	burst_thread_ended(t);
	if (t->slot != &spare_slot) {
		t->slot->submits = 0;
		__atomic_store_n(&t->slot->ring_at, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&t->slot->tid, 0, __ATOMIC_RELEASE);
	}
	if (t->own_stream)
		streams_retire(0, t->tid);
	nccl_thread_ended(t);
	nvtx_thread_ended();
	stacks_thread_ended(t);
	t->generation = UINT32_MAX;
	ring_detach(&t->ring);
}

static void thread_ended(void *arg)
{
	struct thread *t = arg;
	struct undisturbed u;

	if (t->generation != *process_generation)
		return; /* a child's thread that never made a call of its own */
	/* A handler's call in the middle of it would attach the thread anew. */
	undisturbed_begin(&u);
	give_back(t);
	undisturbed_end(&u);
}

static void watch_for_end(struct thread *t)
{
	uint32_t none = 0;

	/* Made once a process and kept over fork; racing first threads leave one without the key: its segment stays its own. */
	if (__atomic_compare_exchange_n(&end_key_made, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		__atomic_store_n(&end_key_made, glibc_pthread_key_create(&end_key, thread_ended) == 0 ? 2 : 3,
				 __ATOMIC_RELEASE);
	if (__atomic_load_n(&end_key_made, __ATOMIC_ACQUIRE) == 2)
		glibc_pthread_setspecific(end_key, t);
}

static void announce(struct thread *t)
{
	struct gst_thread r = { .tid = t->tid };

	prctl(PR_GET_NAME, r.name);
	ring_append(&t->ring, GST_THREAD, sizeof(r), &r);
}

static struct thread *attach(struct thread *t)
{
	bool inherited = t->generation != UINT32_MAX && t->ring.segment;

	if (!process_arm())
		return NULL;
	if (inherited)
		segment_release(t->ring.segment); /* the parent's: ours to unmap, never to write */
	memset(t, 0, sizeof(*t));
	t->tid = (uint32_t)syscall(SYS_gettid);
	t->slot = slot_take(t->tid);
	t->slot->last_end = clock_ticks();
	t->timed_after = 1;
	stacks_thread_begins(t, t->slot->last_end);
	t->random = (t->tid * 2654435761u ^ (uint32_t)t->slot->last_end) | 1u;
	ring_attach(&t->ring);
	t->generation = *process_generation;
	announce(t);
	names_begin(&t->ring);
	cupti_announce(t);
	nvtx_announce(t);
	watch_for_end(t);
	return t;
}

struct thread *thread_attach(void)
{
	struct thread *t = NULL;
	uint64_t begin_ns = clock_mono_ns();
	struct undisturbed u;
	int saved_errno = errno;

	if (process_may_arm()) {
		undisturbed_begin(&u);
		t = attach(&thread_storage);
		undisturbed_end(&u);
		if (!own_thread_here())
			__atomic_fetch_add(&file_counters()->attach_ns, clock_mono_ns() - begin_ns, __ATOMIC_RELAXED);
	}
	errno = saved_errno;
	return t;
}

/* A handler that comes while we append must know that it is in the middle of it. */
void thread_append(struct thread *t, uint16_t type, uint16_t size, const void *record)
{
	if (t->depth) {
		ring_append_here(&t->ring, type, size, record);
		return;
	}
	t->depth = (uintptr_t)__builtin_frame_address(0);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ring_append(&t->ring, type, size, record);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->depth = 0;
}

void threads_forget(void)
{
	memset(thread_slots, 0, sizeof(thread_slots));
	thread_slots_used = 0;
}

uint64_t thread_context(struct thread *t)
{
	CUcontext context = NULL;
	CUdevice device = -1;

	if (t->context_known)
		return t->context;
	if (INJECT(cuCtxGetCurrent, &context) != CUDA_SUCCESS || !context ||
	    INJECT(cuCtxGetDevice, &device) != CUDA_SUCCESS)
		return 0;
	t->context = (uintptr_t)context;
	t->device = (uint16_t)device;
	t->context_known = true;
	memory_device_used(t->device);
	names_device(t, t->device);
	return t->context;
}

/* How long the thread has been late to see that its wait was over, at most: a count that goes on from wherever the wait began. All that
 * it did not compute may have been that, asleep or runnable: the interrupt or timer that ends a sleep, and the thread whose lock it is that
 * the driver waits for, may be milliseconds late on a virtual machine, which shows in no account of this thread. */
static uint64_t run_delay(struct thread *t, enum thread_account what, uint64_t cpu_ns)
{
	struct thread_wait *w = &t->wait;
	int64_t away_ns;

	if (what == ACCOUNT_WAIT_BEGINS) {
		*w = (struct thread_wait){ .cpu_ns = cpu_ns, .mono_ns = clock_mono_ns() };
		return 0;
	}
	away_ns = (int64_t)(clock_mono_ns() - w->mono_ns - (cpu_ns - w->cpu_ns));
	return away_ns > 0 ? (uint64_t)away_ns : 0;
}

#define CPU_GRAIN_NS 2048 /* to read it takes as long, and what is asked is a share of 100 us or more */

void thread_account(struct thread *t, uint64_t ticks, enum thread_account what)
{
	struct gst_usage r = { .run_delay_ns = UINT64_MAX };
	int saved_errno = errno;
	struct timespec cpu;
	struct rusage u;

	/* The times in rusage are as old as the last timer tick of a thread that runs; the clock is exact. */
	if (getrusage(RUSAGE_THREAD, &u) == 0 && clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) == 0) {
		r.cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
		r.voluntary = (uint32_t)u.ru_nvcsw;
		r.involuntary = (uint32_t)u.ru_nivcsw;
		r.major_faults = (uint32_t)u.ru_majflt;
		r.throttled = throttled_account(r.involuntary != t->involuntary);
		t->involuntary = r.involuntary;
		if (what >= ACCOUNT_WAIT_BEGINS)
			r.run_delay_ns = run_delay(t, what, r.cpu_ns);
		r.cpu_ns = clock_floor(r.cpu_ns, CPU_GRAIN_NS);
		r.ticks = ticks ? ticks : clock_ticks();
		ring_append(&t->ring, GST_USAGE, sizeof(r), &r);
	}
	errno = saved_errno;
}
