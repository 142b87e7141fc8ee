/* SPDX-License-Identifier: BSD-2-Clause */
/* placement.h: where our own threads run. They are started by whichever thread of the program came first, which may be pinned to a
 * CPU, of real-time priority, or bound to a memory node: none of that is meant for us. */
#pragma once

/* When the shim is loaded: what the process was given to run on, before it placed threads of its own. */
void placement_note(void);

/* In a thread of ours: the process's CPUs and nice value, the ordinary scheduling policy, memory from anywhere. What is not allowed is
 * left as it is. */
void placement_take(void);
