/* SPDX-License-Identifier: BSD-2-Clause */
/* advice_waits.c: what the host did or waited for, cause by cause. */
#include "advice_parts.h"

#include <stdio.h>
#include <string.h>

#include "tools/ns.h"
#include "tools/text.h"

static bool of_cause(struct advisor *a, struct advice *out)
{
	seen_cause(a, out, (enum cause_id)out->about);
	return true;
}

bool advise_cause(struct advisor *a, struct advice *out)
{
	return advice_matters(a, out) && of_cause(a, out);
}

bool advise_file_cause(struct advisor *a, struct advice *out)
{
	if (!advice_matters(a, out))
		return false;
	seen_file(a, out, CAUSE_output_io);
	return of_cause(a, out);
}

/* Of workers that sleep, more-workers tells. */
bool advise_own_sleep(struct advisor *a, struct advice *out)
{
	int64_t elsewhere = a->recovery->elsewhere_ns[CAUSE_host_sleep];

	out->lost_ns -= elsewhere;
	out->observed_ns = min64(out->observed_ns, out->lost_ns);
	out->recoverable_ns = out->lost_ns + out->likely_ns;
	if (elsewhere > out->next_ns) {
		out->next = "host-sleep";
		out->next_ns = elsewhere;
	}
	return advice_matters(a, out) && of_cause(a, out);
}

/* What would tell more than this recording did. */
bool advise_unexplained(struct advisor *a, struct advice *out)
{
	const struct summary *s = a->summary;
	const char *missing =
		"export --chrome shows what was recorded around these gaps; report --why tells one of them";

	if (!advice_matters(a, out))
		return false;
	if (strcmp(s->host_probes, "ebpf") != 0)
		missing =
			"record it with `gpushim run`, as root: host probes see what the host waits for, and who ends it";
	else if (strcmp(s->device_timing, "cupti") != 0)
		missing =
			"GPUSHIM_DEVICE=cupti times each kernel, where its cost is no matter; report --why tells one gap's story";
	figure_text(a, out, "missing", missing);
	return of_cause(a, out);
}

/* ---- a lock ------------------------------------------------------------------------------------------------------------- */

bool advise_lock(struct advisor *a, struct advice *out)
{
	const struct gap_cause *c, *longest = NULL;
	size_t gap = 0, piece = 0;
	char holder[64];

	if (!advice_matters(a, out))
		return false;
	while ((c = seen_piece(a, CAUSE_host_lock, &gap, &piece)))
		if (c->n_chain > 1 && (!longest || c->end_ns - c->begin_ns > longest->end_ns - longest->begin_ns))
			longest = c;
	if (longest) {
		const struct chain_link *leaf = &longest->chain[longest->n_chain - 1];

		snprintf(holder, sizeof(holder), "%s[%u]", leaf->name, leaf->tid);
		figure_text(a, out, "holder", holder);
	}
	return of_cause(a, out);
}

/* ---- saving ------------------------------------------------------------------------------------------------------------- */

static bool is_to_host(const struct op *op)
{
	return op->of->class == OP_COPY &&
	       (op->of->copy == GST_COPY_D2H_PAGEABLE || op->of->copy == GST_COPY_D2H_PINNED);
}

struct saved {
	uint64_t stalls, bytes; /* bytes that came from the device just before */
	int64_t longest_ns;
};

/* One save may leave several gaps: it ends with the next kernel. What it copied stands before its gaps, behind the last kernel. */
static void find_saved(const struct advisor *a, struct saved *s)
{
	const struct device_timeline *d = a->device->timeline;
	const struct attribution *all = &a->device->attribution;
	size_t gap = 0, piece = 0, at = 0, last = SIZE_MAX;
	const struct gap_cause *c;
	uint64_t copied = 0;
	int64_t ns = 0;
	bool kernel = true;

	while ((c = seen_piece(a, CAUSE_checkpoint, &gap, &piece))) {
		for (; gap != last && at < d->n_ops && d->ops[at].begin_ns <= all->gaps[gap].gap->begin_ns; at++) {
			if (d->ops[at].of->class == OP_KERNEL || d->ops[at].of->class == OP_COMM) {
				kernel = true;
				copied = 0;
			} else if (is_to_host(&d->ops[at])) {
				copied += op_bytes(&d->ops[at]);
			}
		}
		ns = kernel ? 0 : ns;
		s->stalls += kernel;
		s->bytes += copied;
		ns += seen_part(a, c->begin_ns, c->end_ns);
		s->longest_ns = max64(s->longest_ns, ns);
		copied = 0;
		kernel = false;
		last = gap;
	}
}

bool advise_checkpoint(struct advisor *a, struct advice *out)
{
	struct saved saved = { 0 };

	if (!advice_matters(a, out))
		return false;
	find_saved(a, &saved);
	if (saved.stalls) {
		figure_count(out, "stalls", saved.stalls);
		figure_ns(out, "mean_ns", out->lost_ns / (int64_t)saved.stalls);
		figure_ns(out, "longest_ns", saved.longest_ns);
	}
	seen_file(a, out, CAUSE_checkpoint);
	if (saved.bytes)
		figure_bytes(out, "bytes", saved.bytes);
	return of_cause(a, out);
}
