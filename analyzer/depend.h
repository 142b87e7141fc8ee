/* SPDX-License-Identifier: BSD-2-Clause */
/* depend.h: what else than its own stream the work after a gap waited for: a host function, another device's work. */
#pragma once

#include "bounds.h"
#include "timeline.h"

/* Fills the gaps' hostfn and depends. devices: of the whole run, `own` is out's; the gaps have their neighbours. False: no memory. */
bool depend_find(struct device_timeline *out, const struct device_work *devices, size_t own);
