/* SPDX-License-Identifier: BSD-2-Clause */
/* edge_done.h: when each edge had fired at the latest.
 *
 * The recorder reads edges at its leisure; the program's own waits often prove far earlier that one had fired: a stream that has
 * been waited for has passed every edge recorded in it before. */
#pragma once

#include "trace.h"

/* *out: one time per edge of the trace, INT64_MAX never seen; the caller's, for spill_free. */
enum err_kind edge_done_find(int64_t **out, const struct trace *t, struct error *e);
