/* SPDX-License-Identifier: BSD-2-Clause */
/* watch.h: operations that end when memory holds a value, or when a kernel's body says so. Locked. */
#pragma once

#include "timeline.h"

enum { WATCH_NS = 50000 }; /* between two looks of the driver thread */

void watch_add(struct op *op);     /* with a reference of its own */
bool watch_any(void);
struct op *watch_satisfied(uint64_t now_ns); /* removed, the reference goes to the caller; NULL: none */
