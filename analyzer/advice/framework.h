/* SPDX-License-Identifier: BSD-2-Clause */
/* framework.h: what the program is written with, from what is on record of it: advice speaks its words. */
#pragma once

#include "run/run.h"

enum framework { FRAMEWORK_NONE, FRAMEWORK_PYTORCH, FRAMEWORK_JAX, FRAMEWORK_TENSORFLOW, FRAMEWORK_TINYGRAD, FRAMEWORK_COUNT };

/* Of the run's processes, the first that shows one. */
enum framework framework_of(const struct run *run);
const char *framework_name(enum framework f); /* "pytorch"; "none": the driver is all that is seen */

/* Parts of it. By the path of a library that is on a stack, or of a Python file; NONE: it may be anybody's, whatever folder it is in. */
enum framework framework_by_path(const char *path);
/* That of most stacks, each of which is the innermost one's: a program may use one for its data and another for what it computes. */
enum framework framework_by_stacks(const struct stacks *s);
/* By what another tool's trace says that threads were at. */
enum framework framework_by_ops(const struct host_ops *o);
