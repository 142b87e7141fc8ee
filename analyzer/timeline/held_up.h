/* SPDX-License-Identifier: BSD-2-Clause */
/* held_up.h: work that a process held up which is not recorded. The edge before it fired, the device being free for a moment; then the
 * other process's work came first, and all its time looks like this work's own. Or it came between the work and the edge behind it.
 *
 * Nothing in the records tells them apart. But where starts are late as well, and work of its kind is known to take far less, when it ran is
 * not known: anywhere between the two edges, though mostly just before the second. That goes for a few kernels and copies together, too, as
 * long as nothing else on record ran near them, and they waited for nothing. */
#pragma once

#include "bounds.h"

/* Sets usual_ns of such work, and takes from it what the edge before it says. Needs earliest starts and latest ends. False: no memory. */
bool held_up_find(struct device_work *d);
