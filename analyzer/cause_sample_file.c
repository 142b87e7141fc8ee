/* SPDX-License-Identifier: BSD-2-Clause */
#include "cause_sample_file.h"

#include <stdio.h>
#include <string.h>

#include "cause_chain_file.h"

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

static const struct silence *silence_around(const struct gap_view *v, const struct activity *a)
{
	for (size_t i = 0; i < v->n_silences; i++)
		if (v->silences[i].begin_ns <= a->begin_ns && a->begin_ns < v->silences[i].end_ns)
			return &v->silences[i];
	return NULL;
}

bool sample_faulted(const struct gap_view *v, const struct activity *a)
{
	const struct silence *s = silence_around(v, a);

	return s && s->before && s->after && s->after->major_faults > s->before->major_faults;
}

void sample_finding(const struct gap_view *v, struct findings *out, enum cause_id cause, const struct activity *a)
{
	struct finding *f = findings_add(out, cause, CONFIDENCE_INFERRED, a->begin_ns, a->end_ns);

	if (a->doing == DOING_FAULT)
		chain_submitter(f, v, "in a page fault");
	else
		chain_submitter(f, v, "in %s", a->syscall);
	evidence_activity(f->words->evidence, sizeof(f->words->evidence), a);
}
