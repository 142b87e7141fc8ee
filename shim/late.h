/* SPDX-License-Identifier: BSD-2-Clause */
/* late.h: records of signal handlers that found no room in the segment, while the append that they interrupted had its place in it
 * still: they wait for the ring's next segment. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ring;

/* False: there is no room for it here either. */
bool late_keep(const struct ring *r, uint16_t type, uint16_t size, const void *record);

/* The ring has a new segment, or its thread ends: what waits for it is appended. Signals must be blocked. */
void late_append(struct ring *r);

/* The process ends, regularly: what still waits counts as dropped. */
void late_drop(void);

/* After fork, in the child: it is the parent's. */
void late_forget(void);
