/* SPDX-License-Identifier: BSD-2-Clause */
/* run_windows.h: several traces of one rank in one run. PyTorch's profiler writes a file for each window of time in which it recorded
 * (schedule's `repeat`), Nsight Systems a report for each range that it captured: one process, and what it did between them is in none.
 *
 * A trace is another one's window where it is of the same rank, or, where ranks are not said, of the same pid and host, in another file, and not
 * of the same time. Ranks are compared within what overlaps only: see imported.window. All processes of a file are of one window. */
#pragma once

#include <stdbool.h>

struct run;

/* run.windowed, run.windowed_ranks, run.windows_more, run.windows_uneven, imported.window; windows of one process with one base of their times are
 * on one clock; says so once, as a warning of the first of them. Nothing of it where no rank has two traces. False: no memory. */
bool run_windows_find(struct run *run);
