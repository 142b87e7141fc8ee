/* SPDX-License-Identifier: BSD-2-Clause */
/* observed.h: where only a process's ancestors may look at it (Yama, ptrace_scope 1), the collector of host probes could not: it is a
 * sibling of the program. `gpushim run --host` names it in GPUSHIM_OBSERVER=<pid>:<inode of its PID namespace>:<pid of the program's
 * first process>, set only there, and each process lets it, once; that first one has done so before it was the program. Who names somebody else
 * later (a debugger of its own) has its way; but what a child of the program names before it executes another program does not last. */
#pragma once

/* In the constructor, while the process has one thread; children of fork() let it by themselves. */
void observed_start(void);
