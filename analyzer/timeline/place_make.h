/* SPDX-License-Identifier: BSD-2-Clause */
/* place_make.h: each piece of a device's work as what the device did, laid out in its stream's known stretches, and outside the gaps. */
#pragma once

#include "bounds.h"
#include "timeline.h"

/* out->ops, by begin, and how many operations they are; needs the gaps. False: no memory. */
bool place_make(struct device_timeline *out, const struct device_work *d);
