/* SPDX-License-Identifier: BSD-2-Clause */
/* busy.h: pending work means a busy device: when the device surely ran, and what that says of the work's starts and ends. */
#pragma once

#include "bounds.h"

/* Sets the stream's latest starts and earliest ends, and adds to d->busy. Needs the waits. False: no memory. */
bool busy_find(struct device_work *d, struct stream_work *w);

/* Whole-context waits of w's trace, where nothing finer is recorded. False: no memory. */
bool busy_find_context(struct device_work *d, const struct stream_work *w);
