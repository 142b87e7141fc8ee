/* SPDX-License-Identifier: BSD-2-Clause */
/* links.h: which stream waits for whose work, across streams and devices, by the events that were recorded and waited for. */
#pragma once

#include "bounds.h"

/* When each wait was over and which streams are opaque in consequence, over all devices of the run; work that others waited for gets
 * their latest ends, and host functions their times. False: no memory. */
bool links_find(struct device_work *devices, size_t n);

/* Work behind a wait did not start before what it waited for had ended: earliest starts from earliest ends. True: something changed. */
bool links_order(struct device_work *devices, size_t n);
