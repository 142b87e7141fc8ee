/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was found asleep in a read of a file on a network's file system, or another program's (FUSE). */
#include "cause_rules.h"

#include "cause_sample_file.h"

void cause_input_network(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_activities && gap_view_unwatched(v); i++) {
		const struct activity *a = &v->activities[i];

		if (a->doing == DOING_READ && a->fd_kind == GST_FD_NETWORK && sample_is_data(a))
			sample_finding(v, out, CAUSE_input_network, a);
	}
}
