/* SPDX-License-Identifier: BSD-2-Clause */
/* slack.h: how long the device may be idle between the nodes of graphs that are under way, and from one process to another (sharing.c).
 * What comes behind is pending meanwhile too, in its stream and in others; so this is taken off the surely busy time as a whole, once
 * that is known. */
#pragma once

#include "bounds.h"

/* Moves as much from the middle of each busy interval to `inside` as the work that may run in it can hide. False: no memory. */
bool slack_take(struct device_work *d);
