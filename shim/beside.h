/* SPDX-License-Identifier: BSD-2-Clause */
/* beside.h: processes of ours beside the program's, for what may wait for a dead server for ever. A thread that hangs in the kernel
 * keeps its process from ending, even by SIGKILL; a process beside it does not. No child of theirs is seen by the program: they
 * send no SIGCHLD, and wait() does not return them. They take no signal and hold no file of the program's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Runs work(arg) in a process that shares this one's memory, and waits for it: for threads of ours, whose wait ends when the program
 * does. *pid is set meanwhile. No page of the program is copied or protected for it. False: no such process to be had. */
bool beside_share(int (*work)(void *arg), void *arg, int32_t *pid);

/* Runs work(arg) in a process with a copy of this one's memory, less what it does not need, so that it holds nothing of the program's
 * (device memory, gigabytes) if it outlives it. It takes the time of a fork, so it is for the program's end. -1, or its pid. */
int32_t beside_fork(int (*work)(void *arg), void *arg);

/* Waits until `deadline_ns` (CLOCK_MONOTONIC), then ends it. -1: it had to be ended; else what work() returned. */
int beside_wait(int32_t pid, uint64_t deadline_ns);
