/* SPDX-License-Identifier: BSD-2-Clause */
/* observed.h: where only a process's ancestors may look at it (Yama, ptrace_scope 1), the collector of host probes could not: it is a
 * sibling of the program. `gpushim run --host` names it in GPUSHIM_OBSERVER=<pid>:<inode of its PID namespace>, set only there, and each
 * process lets it, once, and takes the place of whom a wrapper in that process had named before it became the program: whether what was
 * allowed then still holds cannot be asked. A process that names somebody else later (a debugger of its own) has its way. */
#pragma once

/* In the constructor, while the process has one thread; children of fork() let it by themselves. */
void observed_start(void);
