/* SPDX-License-Identifier: BSD-2-Clause */
#include "stretches.h"

#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/spill.h"

/* Of lost work nothing is claimed at the ends either: half of what is not known would be called idle. */
static int64_t latest_begin(const struct work *op)
{
	return op->lost ? op->earliest_start_ns : op->latest_start_ns;
}

static int64_t earliest_end(const struct work *op)
{
	return op->lost ? op->latest_end_ns : op->earliest_end_ns;
}

/* Where another process may have had the device meanwhile: mostly before. */
static int64_t likely_begin(const struct work *op, const struct work_more *more)
{
	return more->usual_ns ? max64(op->earliest_start_ns, op->latest_end_ns - more->usual_ns) : INT64_MAX;
}

static int64_t likely_end(const struct work *op, const struct work_more *more)
{
	return more->usual_ns ? op->latest_end_ns : INT64_MIN;
}

static bool begin_stretch(struct device_work *d, const struct work *op, const struct work_more *more)
{
	if (!spill_room(d->stretches, d->n_stretches, d->cap_stretches))
		return false;
	d->stretches[d->n_stretches++] = (struct stretch){
		.begin_ns = op->earliest_start_ns,
		.latest_begin_ns = latest_begin(op),
		.last_latest_start_ns = op->latest_start_ns,
		.earliest_end_ns = earliest_end(op),
		.end_ns = op->latest_end_ns,
		.first_entry_ns = op->call->begin_ns,
		.last_entry_ns = op->call->begin_ns,
		.likely_begin_ns = likely_begin(op, more),
		.likely_end_ns = likely_end(op, more),
		.second_begin_ns = INT64_MAX,
		.slack_ns = more->slack_ns,
		.end_known_by = op->known_by,
	};
	return true;
}

static void extend_stretch(struct stretch *s, const struct work *op, const struct work_more *more)
{
	s->begin_ns = min64(s->begin_ns, op->earliest_start_ns);
	s->likely_begin_ns = min64(s->likely_begin_ns, likely_begin(op, more));
	s->likely_end_ns = max64(s->likely_end_ns, likely_end(op, more));
	s->second_begin_ns = min64(s->second_begin_ns, op->earliest_start_ns);
	s->latest_begin_ns = min64(s->latest_begin_ns, latest_begin(op));
	s->last_latest_start_ns = max64(s->last_latest_start_ns, op->latest_start_ns);
	s->earliest_end_ns = max64(s->earliest_end_ns, earliest_end(op));
	if (op->latest_end_ns >= s->end_ns) {
		s->end_ns = op->latest_end_ns;
		s->end_known_by = op->known_by;
	}
	s->slack_ns = sum64(s->slack_ns, more->slack_ns);
	s->last_entry_ns = max64(s->last_entry_ns, op->call->begin_ns);
	s->first_entry_ns = min64(s->first_entry_ns, op->call->begin_ns);
}

bool stretches_add(struct device_work *d, const struct stream_work *w)
{
	bool open = false;

	for (size_t i = 0; i < w->n; i++) {
		const struct work *op = &w->ops[i];
		const struct work_more *more = work_more(w, op);

		if (op->hostfn) {
			open = false;
		} else if (open && op->earliest_start_ns <= d->stretches[d->n_stretches - 1].end_ns) {
			extend_stretch(&d->stretches[d->n_stretches - 1], op, more);
		} else {
			if (!begin_stretch(d, op, more))
				return false;
			open = true;
		}
	}
	return true;
}
