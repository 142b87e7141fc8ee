/* SPDX-License-Identifier: BSD-2-Clause */
/* elsewhere.h: graphs whose nodes run on other devices than the stream they are launched in.
 *
 * Such a launch is work on each of those devices too, in a stream_work of its own. When its nodes run there is not known, and where
 * a node's device is not known either, not even whether: from the launch until that is known to be over nothing is claimed there,
 * neither idle nor busy beyond doubt. */
#pragma once

#include "bounds.h"

/* The ordinal of the device a call's work was put on. */
static inline uint32_t elsewhere_home(const struct trace *t, const struct call *c)
{
	return c->stream != GST_NONE ? t->streams[c->stream].device : c->device;
}

/* Devices on which the process has streams, a bit for each ordinal. */
uint64_t elsewhere_used(const struct trace *t);
/* May a launch run something on one of these devices? */
bool elsewhere_reaches(const struct graph *g, uint64_t devices);
/* Devices on which nodes of this launch count, a bit for each ordinal; 0 for other calls. */
uint64_t elsewhere_devices(const struct trace *t, const struct call *c);
/* Adds the launches in other devices' streams that may run something on this one and were not measured throughout. False: no memory. */
bool elsewhere_collect(struct device_work *d, const struct trace *t, uint32_t device, const struct exact *exact);
/* After the last trace: a device's span must not depend on launches of which nobody knows whether they used it. */
void elsewhere_widen(struct device_work *d);
/* Marks where they may run. False: no memory. */
bool elsewhere_stall(struct device_work *d, struct stream_work *w);
