/* SPDX-License-Identifier: BSD-2-Clause */
/* sharing.h: several processes on one device. They take turns at it: what one has put in may be waiting for its turn, and from one
 * process to the next the device is idle though there is work enough. Pending work then does not prove it busy all the time. */
#pragma once

#include "bounds.h"

/* Adds CHANGE_NS of slack to each piece of work before which the device may have changed from another process. Needs the bounds of
 * all work. False: no memory. */
bool sharing_find(struct device_work *d);
