/* SPDX-License-Identifier: BSD-2-Clause */
#include "thread.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
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
#include "names.h"
#include "nccl_call.h"
#include "own_thread.h"
#include "segment.h"
#include "stream.h"

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
		__atomic_store_n(&t->slot->tid, 0, __ATOMIC_RELEASE);
	}
	if (t->own_stream)
		streams_retire(0, t->tid);
	nccl_thread_ended(t);
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
	t->random = (t->tid * 2654435761u ^ (uint32_t)t->slot->last_end) | 1u;
	ring_attach(&t->ring);
	t->generation = *process_generation;
	announce(t);
	names_begin(t);
	cupti_announce(t);
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
	names_device(t, t->device);
	return t->context;
}

#define SPUN_ENOUGH 16 /* copies in a row during which the thread never gave up its CPU */

static uint64_t positive(uint64_t ns)
{
	return (int64_t)ns > 0 ? ns : 0;
}

/* Second field of schedstat: nanoseconds spent runnable but waiting for a CPU. System calls as such: libc's are places to be
 * cancelled. */
static uint64_t read_run_delay_ns(void)
{
	char text[96];
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : syscall(SYS_read, fd, text, sizeof(text) - 1);
	char *p;

	if (fd >= 0)
		syscall(SYS_close, fd);
	if (n <= 0)
		return UINT64_MAX;
	text[n] = 0;
	p = strchr(text, ' ');
	return p ? strtoull(p + 1, NULL, 10) : UINT64_MAX;
}

/* How long the thread has been runnable without a CPU, at most: a count that goes on from wherever the wait began. Reading it opens a
 * file, and in the program's own table of descriptors, where another thread may notice. So it is not read where it is plain: what a thread
 * did not get of the time without ever giving up its CPU is the delay. A driver that spins in its copies is known by that after a few.
 * Where the file cannot be had, and in a synchronise, all that the thread did not compute may have been delay: the interrupt or timer that
 * ends a sleep may be milliseconds late too, on a virtual machine, which shows in no account. */
static uint64_t run_delay(struct thread *t, enum thread_account what, uint64_t cpu_ns, uint32_t voluntary)
{
	struct thread_wait *w = &t->wait;
	bool blocked = voluntary != w->voluntary;
	uint64_t delay_ns;

	if (what != ACCOUNT_WAIT_ENDED) {
		*w = (struct thread_wait){
			.spun = w->spun, .copies = what == ACCOUNT_COPY_BEGINS, .voluntary = voluntary, .cpu_ns = cpu_ns
		};
		delay_ns = what == ACCOUNT_COPY_BEGINS && w->spun < SPUN_ENOUGH ? read_run_delay_ns() : UINT64_MAX;
		w->delay_known = delay_ns != UINT64_MAX;
		w->delay_ns = w->delay_known ? delay_ns : 0;
		w->mono_ns = clock_mono_ns();
		return w->delay_ns;
	}
	if (w->copies)
		w->spun = blocked ? 0 : w->spun + (w->spun < SPUN_ENOUGH);
	delay_ns = blocked && w->delay_known ? read_run_delay_ns() : UINT64_MAX;
	if (delay_ns != UINT64_MAX)
		return delay_ns;
	return w->delay_ns + positive(clock_mono_ns() - w->mono_ns - (cpu_ns - w->cpu_ns));
}

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
		if (what >= ACCOUNT_SYNC_BEGINS)
			r.run_delay_ns = run_delay(t, what, r.cpu_ns, r.voluntary);
		r.ticks = ticks ? ticks : clock_ticks();
		ring_append(&t->ring, GST_USAGE, sizeof(r), &r);
	}
	errno = saved_errno;
}
