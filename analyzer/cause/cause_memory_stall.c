/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was found asleep in page faults, and what its process had in the swap came back meanwhile. */
#include "cause_rules.h"

#include "cause_sample_file.h"

void cause_memory_stall(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_activities && gap_view_unwatched(v); i++) {
		const struct activity *a = &v->activities[i];

		if (a->doing == DOING_FAULT && sample_faulted(v, a) == FAULTED_SWAP)
			sample_finding(v, out, CAUSE_memory_stall, a);
	}
}
