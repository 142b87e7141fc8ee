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
 * lower quartile of all. And where the device was free for a moment, the edge fires early and the other's work still comes first: there
 * this one's seems to run far longer than all others of its kind (held_up.h). What the work waited for must be over beyond doubt: on a starved
 * host an end may be known late. */
#include "cause_rules.h"

#include <stdio.h>

#include "tools/text.h"

/* Another process's work ran while this one's was waiting. */
static const struct op *occupant(const struct gap_view *v)
{
	const struct op *before = v->gap->before;

	return v->ready && before && before->of->trace != v->trace && before->end_ns > v->submit->end_ns ? before
													 : NULL;
}

static bool waits_for_value(const struct dependency *d)
{
	return d->n_waits && d->waits[0]->family == GST_FAMILY_MEMOP;
}

/* Other tools' traces do not say for whom a stream waits, nor for which event: that it waited for nothing is not known. */
static bool knows_waits(const struct gap_view *v, const struct op *other)
{
	return other || !v->trace->imported;
}

static bool is_late(const struct gap_view *v, int64_t late_ns)
{
	/* the start may be earlier than stated by its error */
	return v->proven && v->device->latency_ns && late_ns > gap_view_latency_ns(v) + v->gap->end_error_ns;
}

static void say(struct finding *f, const struct gap_view *v, int64_t late_ns, const struct op *other)
{
	char late[TEXT_SHORT], usual[TEXT_SHORT], busy[TEXT_SHORT];
	char *out = f->words->evidence;
	const size_t size = sizeof(f->words->evidence);

	text_duration(late, late_ns);
	text_duration(usual, !other && gap_view_held_up_ns(v) ? gap_view_held_up_ns(v) : v->device->latency_ns);
	text_duration(busy, v->gap->after ? v->gap->after->stretch_end_ns - v->gap->after->stretch_begin_ns : 0);
	if (other)
		snprintf(out, size,
			 "ready for %s where a start takes %s (by %u starts); process %u had the device before", late,
			 usual, v->device->n_latencies, other->of->trace->header.pid);
	else if (gap_view_held_up_ns(v))
		snprintf(out, size,
			 "over %s after the device could get to it, where such work takes %s, and not only once: an "
			 "unrecorded process may have had the device",
			 busy, usual);
	else
		snprintf(out, size,
			 "ready for %s where a start takes %s (by %u starts); nothing on record ran or was waited for: "
			 "an unrecorded process may have had the device",
			 late, usual, v->device->n_latencies);
}

void cause_device_contention(const struct gap_view *v, struct findings *out)
{
	int64_t from_ns = gap_view_ready_by_ns(v), late_ns = v->gap->end_ns - from_ns;
	const struct op *other = is_late(v, late_ns) ? occupant(v) : NULL;
	struct finding *f;

	/* nobody knows when a device looks at a value again that it waits for */
	if (!v->submit || !knows_waits(v, other) || waits_for_value(gap_depends(v->gap)) ||
	    gap_depends(v->gap)->unknown || late_ns <= 0 || (!gap_view_held_up_ns(v) && !is_late(v, late_ns)))
		return;
	f = findings_add(out, CAUSE_device_contention, other ? CONFIDENCE_OBSERVED : CONFIDENCE_INFERRED, from_ns,
			 v->gap->end_ns);
	chain_submitter_in(f, v, "its work was queued", "");
	say(f, v, late_ns, other);
}
