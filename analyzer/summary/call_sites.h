/* SPDX-License-Identifier: BSD-2-Clause */
/* call_sites.h: idle time by the statement that held the submitting thread. */
#pragma once

#include "summary.h"

struct call_site {
	const struct frame *frame; /* the statement; NULL: no stack says */
	const struct held *held;   /* its longest stretch */
	size_t device;             /* index in summary.devices */
	size_t gaps;               /* in how many */
	size_t longest_gap;        /* number of the gap with the longest */
	int64_t idle_ns;           /* over all sites of a device: its idle time, exactly */
	int64_t causes[CAUSE_COUNT];
};

/* Of all devices, each one's together, the longest first; to be freed. NULL: no memory. */
struct call_site *call_sites_build(const struct summary *s, size_t *n);
/* Of one device, and of what of its gaps lies in [from_ns, until_ns); else likewise. */
struct call_site *call_sites_within(const struct summary *s, size_t device, int64_t from_ns, int64_t until_ns, size_t *n);
