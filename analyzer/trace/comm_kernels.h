/* SPDX-License-Identifier: BSD-2-Clause */
/* comm_kernels.h: which kernels are communication: by their names (comm_kernels.def), and by an NCCL call that launched them. */
#pragma once

#include <stdbool.h>

struct trace;

#define LAUNCH_BY_NCCL 1 /* call.detail of a launch */

/* By its name, mangled or not. What template arguments and parameters say is not about the kernel itself. */
bool comm_kernel(const char *name);

/* Marks the launches that a thread made inside an NCCL call of its own that communicates. Calls and NCCL calls are sorted by their begin.
 * False: no memory. */
bool comm_launches_mark(struct trace *t);
