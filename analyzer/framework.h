/* SPDX-License-Identifier: BSD-2-Clause */
/* framework.h: what the program is written with, from what is on record of it: advice speaks its words. */
#pragma once

#include "run.h"

enum framework { FRAMEWORK_NONE, FRAMEWORK_PYTORCH, FRAMEWORK_JAX, FRAMEWORK_TENSORFLOW, FRAMEWORK_TINYGRAD, FRAMEWORK_COUNT };

/* Of the run's processes, the first that shows one. */
enum framework framework_of(const struct run *run);
const char *framework_name(enum framework f); /* "pytorch"; "none": the driver is all that is seen */
