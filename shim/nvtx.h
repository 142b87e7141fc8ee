/* SPDX-License-Identifier: BSD-2-Clause */
/* nvtx.h: what the program says of itself through NVTX (ranges, marks), recorded where the place for a tool is free (nvtx_slot.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "thread.h"

/* The thread has just been attached to the file: whose the slot is (once a file), what the thread has open. */
void nvtx_announce(struct thread *t);
void nvtx_thread_ended(void);

/* After fork, in the child. */
void nvtx_forget(void);

/* The calling thread, to record what it says; NULL: there is no file (yet). */
static inline struct thread *nvtx_thread(void)
{
	struct thread *t = __atomic_load_n(process_generation, __ATOMIC_RELAXED) ? thread_self() : NULL;

	return t && t->depth != THREAD_NEVER_RECORDED ? t : NULL;
}

/* Around an append: a signal handler that comes meanwhile must know. *here: the thread was in the middle of one, or in a driver call, itself. */
static inline uintptr_t nvtx_append_begin(struct thread *t, bool *here)
{
	uintptr_t depth = t->depth;

	*here = depth != 0;
	if (!depth)
		t->depth = (uintptr_t)__builtin_frame_address(0);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return depth;
}

static inline void nvtx_append_end(struct thread *t, uintptr_t depth)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->depth = depth;
}

/* A GST_NVTX; domain and name are texts (nvtx_text.h). */
void nvtx_write(struct thread *t, enum gst_nvtx_what what, uint32_t domain, uint32_t number, uint32_t name);
