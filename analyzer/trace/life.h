/* SPDX-License-Identifier: BSD-2-Clause */
/* life.h: is the process that writes a file still at it? A file alone cannot tell one that was killed from one that goes on. */
#pragma once

#include "shim/format.h"

enum life {
	LIFE_ENDED,   /* through exit(): the file is whole */
	LIFE_RUNNING, /* it was still being written when it was read */
	LIFE_CUT,     /* no regular end: killed, or gone through _exit or exec */
	LIFE_UNKNOWN, /* no regular end, and of another machine */
};

/* path, seen: the file and its counters as they were read first. last_ns: the last sign of life in them, CLOCK_MONOTONIC.
 * Takes up to 0.1 s where the process cannot be looked at and was alive a moment ago. */
enum life life_of(const char *path, const struct gst_file_header *h, const struct gst_counters *seen, int64_t last_ns);

/* CLOCK_MONOTONIC now. */
int64_t life_now_ns(void);
