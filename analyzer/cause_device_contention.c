/* SPDX-License-Identifier: BSD-2-Clause */
/* Work had been submitted, had nothing before it in its stream and waited for nothing, and started far later than this device starts
 * work in this run: something else had the device.
 *
 * Who? The timeline merges the processes of a run by the device's UUID, so while a recorded process runs there is no gap to explain:
 * what one of them waits for another is not lost to the device. So this is seen
 *   - in a report on one process of several: its device, as this process saw it. The other is not in the records at hand: inferred.
 *   - in a report on all of them: between two processes' turns, where another process's work was the last to run and this one's had
 *     been waiting meanwhile (observed); or because of a process that was not recorded at all (inferred).
 * The start must be known: an edge into an empty stream fires when the device gets to it. Where no edge says so, a late start looks
 * like a long kernel, and its time counts as busy. Some edges fire late because of this very cause, so that the device's latency is the
 * lower quartile of all. What the work waited for must be over beyond doubt: on a starved host an end may be known late. */
#include "cause_rules.h"

#include <stdio.h>

#include "text.h"

/* Another process's work ran while this one's was waiting. */
static const struct op *occupant(const struct gap_view *v)
{
	const struct op *before = v->gap->before;

	return v->ready && before && before->trace != v->trace && before->end_ns > v->submit->end_ns ? before : NULL;
}

static bool waits_for_value(const struct dependency *d)
{
	return d->n_waits && d->waits[0]->family == GST_FAMILY_MEMOP;
}

void cause_device_contention(const struct gap_view *v, struct findings *out)
{
	int64_t from_ns = gap_view_ready_by_ns(v), late_ns = v->gap->end_ns - from_ns;
	char late[TEXT_SHORT], usual[TEXT_SHORT];
	const struct op *other = occupant(v);
	struct finding *f;

	/* the start may be earlier than stated by its error; and nobody knows when a device looks at a value again that it waits for */
	if (!v->submit || waits_for_value(&v->gap->depends) || !v->proven || !v->device->latency_ns ||
	    v->gap->depends.unknown || late_ns <= gap_view_latency_ns(v) + v->gap->end_error_ns)
		return;
	f = findings_add(out, CAUSE_device_contention, other ? CONFIDENCE_OBSERVED : CONFIDENCE_INFERRED, from_ns,
			 v->gap->end_ns);
	chain_submitter(f, v, "its work was queued");
	text_duration(late, late_ns);
	text_duration(usual, v->device->latency_ns);
	if (other)
		snprintf(f->words->evidence, sizeof(f->words->evidence),
			 "ready for %s where a start takes %s (by %u starts); process %u had the device before", late,
			 usual, v->device->n_latencies, other->trace->header.pid);
	else
		snprintf(f->words->evidence, sizeof(f->words->evidence),
			 "ready for %s where a start takes %s (by %u starts); nothing on record ran or was waited for: "
			 "an unrecorded process may have had the device",
			 late, usual, v->device->n_latencies);
}
