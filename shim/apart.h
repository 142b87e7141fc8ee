/* SPDX-License-Identifier: BSD-2-Clause */
/* apart.h: what the shim has to do now and then that the program must not notice: files are opened where the program's descriptors
 * are not, and no signal handler, no cancellation comes in between. */
#pragma once

#include <stdint.h>

/* While the calling thread is undisturbed its signals wait, and it is not cancelled: a handler cannot jump out of the middle of what
 * others would then wait for. Two system calls; for rare moments. */
struct undisturbed {
	uint64_t signals;
	int cancel;
};
void undisturbed_begin(struct undisturbed *u);
void undisturbed_end(const struct undisturbed *u);

/* Calls work(arg) undisturbed, on a stack of its own (so that the caller's may be small), in a thread that lives just as long and has
 * an empty table of descriptors, while the caller waits: what it opens takes no number that the program expects for a file
 * of its own. It has the caller's thread-local storage, errno included. Some 30 us. Where no such thread can be had (limits, Linux before 5.9) the caller
 * does it itself. */
void apart_run(void (*work)(void *), void *arg);

/* The calling thread, one of ours that makes no driver calls, gets an empty table of descriptors for good (Linux 5.9; before that it
 * shares the program's). No child inherits what it opens, and nothing the program closes stays open here. */
void apart_stay(void);
