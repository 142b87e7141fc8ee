/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was found asleep in a read of a file, or in a call that only reads files, or in page faults that cannot have been for the swap: then they were for a file's pages. */
#include "cause_rules.h"

#include "cause_sample_file.h"

static bool waited_for_a_file(const struct gap_view *v, const struct activity *a)
{
	if (a->doing == DOING_FAULT)
		return sample_faulted(v, a) == FAULTED_FILE;
	if (a->doing != DOING_READ || a->fd_kind != GST_FD_FILE)
		return false;
	return a->op || sample_is_data(a); /* of another tool's trace nobody knows which file it was */
}

void cause_input_storage(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_activities && gap_view_unwatched(v); i++)
		if (waited_for_a_file(v, &v->activities[i]))
			sample_finding(v, out, CAUSE_input_storage, &v->activities[i]);
}
