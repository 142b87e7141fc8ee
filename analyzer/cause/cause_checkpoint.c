/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was found forcing a file to disk, or writing to a file after it had copied from the device in the same gap; or in what saves the program's
 * state, by another tool's word. */
#include "cause_rules.h"

#include "cause_loader.h"

#include <string.h>

#include "tools/alloc.h"

static bool silence_ends_before(const void *element, const void *key)
{
	return ((const struct silence *)element)->end_ns <= *(const int64_t *)key;
}

static bool segment_ends_before(const void *element, const void *key)
{
	return ((const struct chain_segment *)element)->end_ns <= *(const int64_t *)key;
}

static bool reaches_into(const struct activity *a, int64_t begin_ns, int64_t end_ns)
{
	return begin_ns < a->end_ns && end_ns > a->begin_ns;
}

/* Is it of a write in the activity's time? Of a sum it is not known where in the sum's time that was: the same file tells. */
static bool is_of_its_write(const struct chain_segment *s, const struct activity *a)
{
	const struct chain_step *leaf = &s->steps[s->n_steps - 1];
	const struct host_stalls *sum = leaf->wait ? NULL : leaf->stalls;

	if (leaf->state != CHAIN_FILE_WRITE)
		return false;
	return reaches_into(a, s->begin_ns, s->end_ns) ||
	       (sum && reaches_into(a, sum->begin_ns, sum->end_ns) && a->file && sum->what.file &&
		strcmp(a->file, sum->what.file) == 0);
}

#define PARTS 64 /* of a sum, on either side: it is laid out in parts, one for all its short waits */

/* Samples do not say how much is written: where host probes know of that write, they decide (cause_chain_leaf.c). They may have begun later, or
 * been killed before. */
static bool is_known_to_probes(const struct gap_view *v, const struct activity *a)
{
	size_t which = array_first(v->silences, v->n_chains, sizeof(*v->silences), silence_ends_before, &a->begin_ns);
	const struct chain *c = which < v->n_chains ? &v->chains[which] : NULL;
	size_t at = c ? array_first(c->at, c->n, sizeof(*c->at), segment_ends_before, &a->begin_ns) : 0, beyond = 0;

	for (at = at > PARTS ? at - PARTS : 0; c && at < c->n && beyond < PARTS; at++) {
		if (is_of_its_write(&c->at[at], a))
			return true;
		beyond += c->at[at].begin_ns >= a->end_ns;
	}
	return false;
}

/* A write that another tool saw says not into what. */
static bool may_be_file(const struct activity *a)
{
	return a->fd_kind == GST_FD_FILE || a->fd_kind == GST_FD_NETWORK || (a->op && a->fd_kind == GST_FD_NONE);
}

static bool saves(const struct gap_view *v, const struct activity *a, int64_t copied_out_ns)
{
	if (a->doing == DOING_FLUSH)
		return true;
	return a->doing == DOING_WRITE && may_be_file(a) && a->end_ns > copied_out_ns && !is_known_to_probes(v, a);
}

void cause_checkpoint(const struct gap_view *v, struct findings *out)
{
	int64_t copied_out_ns = gap_view_copied_out_ns(v);

	loader_findings(v, out, CAUSE_checkpoint, AT_SAVING, "saving state");
	for (size_t i = 0; i < v->n_activities; i++) {
		const struct activity *a = &v->activities[i];
		struct finding *f;

		if (!saves(v, a, copied_out_ns))
			continue;
		f = findings_add(out, CAUSE_checkpoint, CONFIDENCE_INFERRED, a->begin_ns, a->end_ns);
		chain_submitter_in(f, v, "in ", a->syscall);
		evidence_activity(f->words->evidence, sizeof(f->words->evidence), v->trace, a);
	}
}
