/* SPDX-License-Identifier: BSD-2-Clause */
/* sequence.h: the order of work in each stream, and the device clock readings of edges: what one record says only relative to another. */
#pragma once

#include "trace.h"

/* seq and covers, 32 bits in the file, become 64 bits: each is taken to be the one nearest to the last one seen in its stream. Notes in the same pass
 * which calls are rare (trace_rare.h). */
enum err_kind sequence_unwrap(struct trace *t, struct error *e);

/* device_ns, root and step_ns of every edge, by the chain of bases. */
enum err_kind sequence_edges(struct trace *t, struct error *e);
