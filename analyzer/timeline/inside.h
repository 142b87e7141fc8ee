/* SPDX-License-Identifier: BSD-2-Clause */
/* inside.h: idle time that no submission ends: between the nodes of a graph, which the device starts itself, and while it changes from
 * one process to another (sharing.h). A burst sees a graph's launch as one piece of work.
 *
 * Where a graph is a chain of kernels that were measured outside of graphs too, its idle time is what its launch takes less what
 * they take. Elsewhere a node begins NODE_LEAST_NS to NODE_MOST_NS after the one before, as on current devices. */
#pragma once

#include "replay.h"

struct inside { /* ns, over all launches on a device, if nothing else ran meanwhile */
	double low, middle, high;
};

/* With the means that `classes` has now. False: no memory. */
bool inside_sum(struct inside *out, const struct replay *r, uint32_t device, const struct classes *classes);
