/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was found asleep in a page fault, and a part of its process was in the swap. */
#include "cause_rules.h"

#include "cause_sample_file.h"

void cause_memory_stall(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_activities && gap_view_unwatched(v); i++) {
		const struct activity *a = &v->activities[i];

		if (a->doing == DOING_FAULT && a->swapped && sample_faulted(v, a))
			sample_finding(v, out, CAUSE_memory_stall, a);
	}
}
