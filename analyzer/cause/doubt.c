/* SPDX-License-Identifier: BSD-2-Clause */
#include "doubt.h"

#include <string.h>

#include "tools/ns.h"
#include "trace/one_device.h"

/* A process may use it whose devices are not known: their records are among what was lost. */
static bool may_use(const struct trace *t, const struct device *d)
{
	for (size_t i = 0; i < t->n_devices; i++) {
		const struct device *one = &t->devices[i];

		if (memcmp(one->uuid, d->uuid, sizeof(one->uuid)) == 0 &&
		    (device_has_uuid(one) || one->device == d->device))
			return true;
	}
	return t->n_devices == 0;
}

/* What was dropped may be of any time, and so may be what another tool did not see. */
static int64_t missing_from(const struct trace *t)
{
	if (t->imported && t->imported->incomplete)
		return INT64_MIN;
	return t->counters.records_dropped || t->counters.streams_untracked ? INT64_MIN : t->cut_ns;
}

int64_t doubt_from(const struct device_timeline *d, const struct run *run)
{
	int64_t from_ns = INT64_MAX;

	for (size_t i = 0; i < run->n_missing; i++)
		if (!run->missing[i].host)
			return INT64_MIN; /* it may have used any device, at any time */
	for (size_t i = 0; i < run->n_traces; i++)
		if (may_use(run->traces[i], &d->device))
			from_ns = min64(from_ns, missing_from(run->traces[i]));
	return from_ns;
}

/* Is it not known who asked for it, or when it ran, although that was to be recorded? */
static bool is_doubtful(const struct op *op)
{
	return op && (op->of->unlinked || op->of->lost);
}

/* Measured work that nobody is known to have asked for was there all the same: it touches the gaps beside it alone. */
bool doubt_about(const struct device_timeline *d, const struct gap *gap, int64_t from_ns)
{
	return d->operations_unlinked > d->measured_unlinked || is_doubtful(gap->before) || is_doubtful(gap->after) ||
	       gap->begin_ns < d->settled_ns || gap->end_ns > from_ns;
}
