/* SPDX-License-Identifier: BSD-2-Clause */
#include "process.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "apart.h"
#include "burst.h"
#include "busy.h"
#include "captures.h"
#include "clock.h"
#include "cupti.h"
#include "driver.h"
#include "edge.h"
#include "file.h"
#include "graph.h"
#include "helper.h"
#include "late.h"
#include "memory_kind.h"
#include "names.h"
#include "nccl_call.h"
#include "nvtx.h"
#include "nvtx_slot.h"
#include "observed.h"
#include "once.h"
#include "own_thread.h"
#include "placement.h"
#include "pool.h"
#include "resolve.h"
#include "ring.h"
#include "segment.h"
#include "semaphores.h"
#include "settings.h"
#include "stack.h"
#include "stock.h"
#include "stream.h"
#include "thread.h"
#include "unknown.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static uint32_t not_armed; /* 0: no thread's generation */
uint32_t *process_generation = &not_armed;

static uint32_t generation; /* of the file in force; 0 none yet */
static struct once arming;  /* for the generation in force */
static bool impossible;     /* no file can be had: forward everything */

/* The program was out of descriptors when the file was to be created: its moment, which passes. */
#define AGAIN_NS 10000000
static uint64_t again_ticks; /* not to be tried before; 0 at any time */
static uint64_t missed;      /* calls forwarded meanwhile */
static int missed_why;       /* errno */

static void wipe_in_child(void)
{
	*process_generation = 0;
}

__attribute__((constructor)) static void process_start(void)
{
	settings_read();
	if (!driver_start())
		settings.enabled = false;
	resolve_start();
	placement_note();
	if (!settings.enabled)
		return;
	nvtx_slot_take();
	bias_start();
	observed_start();
	/* Before Linux 4.14, and where an emulator only pretends to wipe: fork() alone is seen, not raw clone. */
	pthread_atfork(NULL, NULL, wipe_in_child);
}

static bool make_generation_page(void)
{
	void *p;

	if (process_generation != &not_armed)
		return true;
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	madvise(p, 4096, MADV_WIPEONFORK);
	process_generation = p;
	return true;
}

/* Everything a parent left in our memory is its own business. */
static void forget_parent(void)
{
	own_threads_forget();
	helper_forget();
	edges_forget();
	bursts_forget();
	streams_forget();
	names_forget();
	unknown_forget();
	graphs_forget();
	pools_forget();
	memory_devices_forget();
	semaphores_forget();
	captures_forget();
	cupti_forget();
	nccl_forget();
	nvtx_forget();
	rings_forget();
	stock_forget();
	stacks_forget();
	threads_forget();
	segments_forget();
	file_forget();
}

/* All that opens files. 0, or an errno. */
static void make_file(void *rc)
{
	clock_choose_once();
	*(int *)rc = file_create();
}

/* What stands first in each segment. */
static void segment_begins(struct ring *r)
{
	busy_write(r);
	names_begin_again(r);
}

/* 0, or an errno. */
static int start_recording(void)
{
	int saved_errno = errno, rc = ENOMEM;

	if (generation)
		forget_parent();
	bias_start();
	settings_read_queues();
	ring_begins = segment_begins;
	if (make_generation_page())
		apart_run(make_file, &rc);
	if (!rc) {
		thread_silence_ticks = clock_ticks_in(100000);
		stacks_begin();
		*process_generation = ++generation;
		file_count_dropped(DROP_DISK, missed);
		file_counters()->drop_errno = missed ? (uint64_t)missed_why : 0;
		if (cupti_level() != GST_LEVEL_CUPTI)
			settings_log_level();
		again_ticks = missed = 0;
	}
	errno = saved_errno;
	return rc;
}

static bool too_early(void)
{
	uint64_t again = __atomic_load_n(&again_ticks, __ATOMIC_RELAXED);

	return again && clock_ticks() < again;
}

bool process_may_arm(void)
{
	if (!settings.enabled || __atomic_load_n(&impossible, __ATOMIC_RELAXED) || cupti_is_starting())
		return false;
	if (!too_early())
		return true;
	__atomic_fetch_add(&missed, 1, __ATOMIC_RELAXED);
	return false;
}

bool process_arm(void)
{
	if (generation && !*process_generation)
		__atomic_store_n(&arming.done, 0, __ATOMIC_RELEASE); /* a child: what the parent armed is not ours */
	cupti_start();
	if (once_begin(&arming)) {
		int rc = *process_generation ? 0 : start_recording();
		bool later = rc == EMFILE || rc == ENFILE;

		if (later) {
			missed_why = rc;
			__atomic_fetch_add(&missed, 1, __ATOMIC_RELAXED);
			__atomic_store_n(&again_ticks, clock_ticks() + clock_ticks_in(AGAIN_NS), __ATOMIC_RELAXED);
		}
		__atomic_store_n(&impossible, rc && !later, __ATOMIC_RELAXED);
		once_end(&arming, !later);
	}
	return *process_generation != 0;
}

__attribute__((destructor)) static void process_end(void)
{
	if (!*process_generation || !file_is_open())
		return;
	helper_stop();
	late_drop();
	file_finish();
}
