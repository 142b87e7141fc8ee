/* SPDX-License-Identifier: BSD-2-Clause */
/* recycle.h: where the file cannot grow, the records that are oldest are given up for the next ones: FORMAT.md, "Recycling", has the
 * order in which that happens and what a reader may rely on. */
#pragma once

#include "segment.h"

/* Gives up the segment that was left longest ago, and leaves the caller's own; where there is none, gives up that one, which nobody else can
 * take meanwhile. In both cases *own becomes GST_NONE. NULL: it has none. 0, or an errno: ENOSPC where there is none, EBUSY where another
 * thread is in the way, or that of opening the file. */
int recycle(struct segment *out, uint32_t *own);
/* The same for nobody who needs it now: the last one that was left stays for those who do (unless they take another in that moment), and what
 * must be kept is not lost for it while the keeper may have more room. */
int recycle_ahead(struct segment *out);
