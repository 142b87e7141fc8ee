/* SPDX-License-Identifier: BSD-2-Clause */
/* own_thread.h: threads of ours in the program's process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct own_thread {
	const char *name;
	void (*main)(void);
};

/* Starts a detached thread with every signal blocked, as the program's signals are for its own threads, and with the placement of
 * the process, not the calling thread's. False: none to be had now. */
bool own_thread_start(const struct own_thread *thread);

/* Is the calling thread one of ours? */
bool own_thread_here(void);

/* Is this thread one of ours, or one that does something apart (apart.h)? From when it has come as far as its own code to when it has
 * left that: its number may be one of the program's afterwards. Only of so many at a time. */
#define OWN_THREADS_KNOWN 32
bool own_thread_is(uint32_t tid);

/* The calling thread is one, or is about to end. */
void own_thread_known(bool lives);

/* Adds the CPU time that the calling thread, one of ours, has used since it last did this to the file's counter. */
void own_thread_account(void);

/* The main thread has ended, and so have all but ours: libc would now end the process, if it did not count ours as well. Two system
 * calls as long as there is a main thread; it must have been there when the first of ours was started. */
bool own_threads_are_alone(void);

/* After fork, in the child. */
void own_threads_forget(void);
