/* SPDX-License-Identifier: BSD-2-Clause */
/* depend.h: what the work after a gap waited for while its device was idle: a host function or another device's work, in its own stream or in one
 * that it stands behind by events, values in memory or the legacy default stream's order. What merely ran meanwhile is none of it. */
#pragma once

#include "bounds.h"
#include "timeline.h"

/* Fills the gaps' depends. devices: of the whole run, `own` is out's; the gaps have their neighbours. False: no memory. */
bool depend_find(struct device_timeline *out, const struct device_work *devices, size_t n_devices, size_t own);
