/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was found waiting for data from a pipe or a socket: somebody owed it the next batch. Or for another thread of its process, while one of
 * those waited for such data. Or in a loader that has workers, by another tool's word. */
#include "cause_rules.h"

#include <stdio.h>
#include <string.h>

#include "cause_loader.h"
#include "gap/futex_looks.h"

static void propose_fed(const struct gap_view *v, struct findings *out, const struct activity *a)
{
	struct finding *f = findings_add(out, CAUSE_input_wait, CONFIDENCE_INFERRED, a->begin_ns, a->end_ns);
	size_t used;

	chain_submitter_in(f, v, "in ", a->syscall);
	evidence_activity(f->words->evidence, sizeof(f->words->evidence), v->trace, a);
	used = strlen(f->words->evidence);
	snprintf(f->words->evidence + used, sizeof(f->words->evidence) - used,
		 "; another thread of the process waited for data in %zu of them: %u", a->n_fed, a->fed);
}

static bool reads_what_comes(const struct activity *a)
{
	return a->doing == DOING_READ &&
	       (a->fd_kind == GST_FD_PIPE || a->fd_kind == GST_FD_SOCKET || (a->op && a->fd_kind == GST_FD_NONE));
}

void cause_input_wait(const struct gap_view *v, struct findings *out)
{
	loader_findings(v, out, CAUSE_input_wait, AT_WAITING_LOADER, "waiting for its loader");
	for (size_t i = 0; i < v->n_activities; i++) {
		const struct activity *a = &v->activities[i];
		struct finding *f;

		if (futex_is_fed(a) && gap_view_unwatched(v))
			propose_fed(v, out, a);
		if (!reads_what_comes(a))
			continue;
		f = findings_add(out, CAUSE_input_wait, CONFIDENCE_INFERRED, a->begin_ns, a->end_ns);
		chain_submitter(f, v, "in %s on %s", a->syscall ? a->syscall : "a system call",
				a->file                     ? a->file
				: a->fd_kind == GST_FD_NONE ? "what is not on record"
							    : "a pipe or socket");
		evidence_activity(f->words->evidence, sizeof(f->words->evidence), v->trace, a);
	}
}
