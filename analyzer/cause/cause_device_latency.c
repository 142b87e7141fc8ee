/* SPDX-License-Identifier: BSD-2-Clause */
/* The next work had been submitted before the gap began, and from then on, or from the end of what it waited for, the device took no
 * longer to start it than its latency in this run allows; that much and no more, however wide the error of the gap's end is. What is longer has another reason (device-contention, or nobody's).
 *
 * A latency that is always the same cannot be seen in edges: from the host it looks like a device clock that is as much ahead, and the
 * clock's error covers it. So this is found behind what else held the work up, and where a start took longer than others. */
#include "cause_rules.h"

#include "tools/ns.h"
#include "tools/text_put.h"

void cause_device_latency(const struct gap_view *v, struct findings *out)
{
	int64_t from_ns = gap_view_ready_ns(v), late_ns = v->gap->end_ns - from_ns, bound_ns = gap_view_latency_ns(v);
	struct finding *f;
	struct text_put p;

	if (!v->ready || gap_view_held_up_ns(v) || gap_depends(v->gap)->unknown || late_ns <= 0 ||
	    late_ns > bound_ns + v->gap->end_error_ns)
		return;
	f = findings_add(out, CAUSE_device_latency, v->proven ? CONFIDENCE_OBSERVED : CONFIDENCE_INFERRED,
			 max64(from_ns, v->gap->end_ns - bound_ns), v->gap->end_ns);
	chain_submitter_in(f, v, "its work was queued", "");
	p = text_put_begin(f->words->evidence, sizeof(f->words->evidence));
	put_text(&p, "submitted ");
	put_duration(&p, v->gap->begin_ns - v->submit->end_ns);
	put_text(&p, " before the gap");
	if (!v->device->latency_ns)
		return;
	put_text(&p, "; to start work takes this device ");
	put_duration(&p, v->device->latency_ns);
	put_text(&p, " (by ");
	put_uint(&p, v->device->n_latencies);
	put_text(&p, " starts)");
}
