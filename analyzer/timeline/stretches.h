/* SPDX-License-Identifier: BSD-2-Clause */
/* stretches.h: a stream's work as runs in which it was never surely empty. */
#pragma once

#include "bounds.h"

/* Adds those of one stream to d->stretches. False: no memory. */
bool stretches_add(struct device_work *d, const struct stream_work *w);
