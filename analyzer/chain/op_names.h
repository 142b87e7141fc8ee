/* SPDX-License-Identifier: BSD-2-Clause */
/* op_names.h: what the names of host_ops and ranges say: which is a loader's or saves state, which waits for a CPU, whose work a profiler's overhead is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum loader { LOADER_NONE, LOADER_WORKS, LOADER_WAITS, LOADER_EITHER, LOADER_SAVES }; /* loader_names.def */

/* Of an operator or a range, name may be NULL; of a Python function, which is named by its file: a program's own file may be called as it likes. */
enum loader loader_by_name(const char *name);
enum loader loader_by_function(const char *name);

/* The window of time in which a profiler put a step: no code of anybody's, so who was in nothing else was in nothing that is known. */
bool op_is_window(const char *name);

/* Why the scheduler had taken a thread off its CPU: it wanted one and had none. Else it waited, or nobody says. */
bool off_cpu_wants_cpu(const char *name);

/* Of what profilers count as overhead: the driver's own work, which it does without them too; the profiler's. */
enum overhead { OVERHEAD_PROFILER, OVERHEAD_LOADS_CODE, OVERHEAD_DRIVER };
enum overhead overhead_by_name(const char *name);
