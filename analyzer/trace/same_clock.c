/* SPDX-License-Identifier: BSD-2-Clause */
#include "same_clock.h"

#include <stdlib.h>
#include <string.h>

/* Wall clock minus CLOCK_MONOTONIC is one number for all of a boot and a time namespace, but for what sets the wall clock: it is stepped by less
 * than this, and slewing moves both. Where a name says that it is one machine, that is all there is to tell its boots apart. */
#define SAME_NAME_NS 1000000000
/* Of other names nothing else says that it is one machine: those that are started together must not be taken for one. The two are read one right
 * after the other; who is not on a CPU in between is off by a time slice. */
#define OTHER_NAME_NS 5000000

bool same_clock(const struct gst_file_header *a, const struct gst_file_header *b)
{
	bool same_name = strncmp(a->host, b->host, sizeof(a->host)) == 0;
	int64_t apart;

	if (a->clock == CLOCK_OF_IMPORT || b->clock == CLOCK_OF_IMPORT)
		return a->clock == b->clock && a->pid_ns == b->pid_ns;
	if (!a->start_real_ns || !b->start_real_ns)
		return same_name;
	return !__builtin_sub_overflow((int64_t)(a->start_real_ns - a->start_mono_ns),
				       (int64_t)(b->start_real_ns - b->start_mono_ns), &apart) &&
	       apart != INT64_MIN && llabs(apart) < (same_name ? SAME_NAME_NS : OTHER_NAME_NS);
}
