/* SPDX-License-Identifier: BSD-2-Clause */
/* same_clock.h: whether the times of two files can be compared as they are: both are CLOCK_MONOTONIC of one boot of one machine, in one time
 * namespace. Its containers have host names of their own and count on the one clock; what is in another time namespace, or of another boot, has
 * another. */
#pragma once

#include <stdbool.h>

#include "shim/format.h"

/* header.clock of another tool's trace: its times are on a clock of their own, which header.pid_ns numbers. */
#define CLOCK_OF_IMPORT UINT32_MAX

bool same_clock(const struct gst_file_header *a, const struct gst_file_header *b);
