/* SPDX-License-Identifier: BSD-2-Clause */
/* launch_publish.h: rows of launches become calls of their trace, folded where that changes nothing. */
#pragma once

#include "launch_rows.h"
#include "names.h"

/* Is it worth while? Not for what is damaged, still written to, without its beginning, or measured kernel by kernel: there each call is looked at. */
bool launch_rows_suit(const struct trace *t, bool damaged);

/* Takes what the parts hold over, and puts all launches among t->calls, of which there is room for *cap then. Needs all records of t; they need not be
 * sorted, and the calls nearly are afterwards. *end_ns: raised to the last return. False: no memory. */
bool launch_publish(struct trace *t, struct launch_rows *parts[], size_t n_parts, const struct names *names, size_t *cap, int64_t *end_ns);
