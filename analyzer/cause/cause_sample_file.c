/* SPDX-License-Identifier: BSD-2-Clause */
#include "cause_sample_file.h"

#include <stdio.h>
#include <string.h>

#include "cause_chain_file.h"
#include "cause_chain_leaf.h"

static bool begins(const char *path, const char *with)
{
	return strncmp(path, with, strlen(with)) == 0;
}

bool sample_is_data(const struct activity *a)
{
	struct host_what file = { .file = a->file, .fd_kind = GST_FD_FILE };

	return a->file && !begins(a->file, "/proc/") && !begins(a->file, "/sys/") && !begins(a->file, "/dev/") &&
	       file_use(&file) == FILE_DATA;
}

/* A process that has something in the swap, as those that run for long mostly have, may wait for a file all the same: what it waits for there
 * comes back, and the less there is, the fewer of the faults can have been for that. */
enum faulted sample_faulted(const struct gap_view *v, const struct activity *a)
{
	size_t n;
	const struct silence *s = gap_view_silences(v, a->begin_ns, a->end_ns, &n);
	uint64_t read_bytes;

	if (!s || !s->before || !s->after || s->after->major_faults <= s->before->major_faults)
		return FAULTED_UNKNOWN;
	read_bytes = (uint64_t)(s->after->major_faults - s->before->major_faults) * PAGE_BYTES;
	if (s->swapped.fell_bytes >= read_bytes / 4 && s->swapped.fell_bytes)
		return FAULTED_SWAP;
	return s->swapped.most_bytes <= read_bytes / 4 ? FAULTED_FILE : FAULTED_UNKNOWN;
}

void sample_finding(const struct gap_view *v, struct findings *out, enum cause_id cause, const struct activity *a)
{
	struct finding *f = findings_add(out, cause, CONFIDENCE_INFERRED, a->begin_ns, a->end_ns);

	if (a->doing == DOING_FAULT)
		chain_submitter_in(f, v, "in a page fault", "");
	else
		chain_submitter_in(f, v, "in ", a->syscall);
	evidence_activity(f->words->evidence, sizeof(f->words->evidence), v->trace, a);
}
