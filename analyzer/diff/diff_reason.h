/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_reason.h: the verdict in one sentence: which row, how much, how sure. */
#pragma once

#include "diff.h"

/* Of one that is compared and judged. NULL: no memory. */
const char *diff_reason(struct diff *d);

/* Which row says it best: of those that changed like that, a cause before what else a step is made of, and that before sums; of several what changed most.
 * False: there is none. */
bool diff_reason_row(const struct diff *d, enum diff_change change, size_t *pair, size_t *row);
