/* SPDX-License-Identifier: BSD-2-Clause */
/* partition.h: who owns each busy nanosecond of a device: kernels before collectives, these before copies, these before memsets. */
#pragma once

#include <stdbool.h>

#include "timeline.h"
#include "tools/interval.h"

struct partition { /* exposed: communication while nothing computes, copies while nothing else runs */
	int64_t compute_ns, comm_ns, memset_ns;
	int64_t copy_ns[8]; /* by enum gst_copy_kind */
};

/* Where communication is exposed, and copies or memsets: as sorted, disjoint stretches that sum to what partition_of says of the whole span.
 * False: no memory; what there is then is the caller's as well. */
bool partition_exposed(struct intervals *comm, struct intervals *copy, const struct device_timeline *d);

/* Behind every so many gaps, what of the time before has which owner: partition_of then begins there. False: no memory. */
bool partition_mark(struct device_timeline *d, size_t every);

/* Of [begin, end) alone. Needs ops and gaps; within the span it sums, with the gaps, to that length. False: no memory. */
bool partition_of(struct partition *out, const struct device_timeline *d, int64_t begin_ns, int64_t end_ns);

/* What is before each of those instants, which ascend, in one go. False: no memory. */
bool partition_before(struct partition *out, const struct device_timeline *d, const int64_t *instants, size_t n);
