/* SPDX-License-Identifier: BSD-2-Clause */
/* slow.h: calls that take longer than they would, as SIMGPU_SLOW and SIMGPU_FIRST_LAUNCH_US say. */
#pragma once

#include <stdbool.h>

/* Is a call meant by this name? cuMemAlloc means cuMemAlloc_v2 too, cuLaunchKernel also cuLaunchKernel_ptsz. */
bool slow_names_call(const char *name, const char *exported);
/* On entry of a call that will do its work: takes the time that it is to take. */
void slow_call(const char *exported);
/* … of the first launch of a function, whose code is loaded by it. */
void slow_first_launch(void);
