/* SPDX-License-Identifier: BSD-2-Clause */
#include "export_walk.h"

#include <stdio.h>

#include "import/import.h"
#include "tools/ns.h"

int64_t since_zero(const struct walk *w, int64_t ns)
{
	return ranks_drawn_ns(&w->s->ranks, w->clock, ns) - w->zero_ns;
}

void slice_begin_flow(struct walk *w, const char *category, const char *name, uint32_t pid, uint32_t tid, int64_t begin,
		      int64_t end, enum flow_end flow_end, uint64_t flow)
{
	const struct sink_slice s = {
		.category = category,
		.name = name,
		.pid = pid,
		.tid = tid,
		.begin_ns = since_zero(w, begin),
		.end_ns = max64(since_zero(w, begin), since_zero(w, end)),
		.end = flow_end,
		.flow = flow,
	};

	w->sink->slice_begin(w->to, &s);
}

void slice_begin(struct walk *w, const char *category, const char *name, uint32_t pid, uint32_t tid, int64_t begin,
		 int64_t end)
{
	slice_begin_flow(w, category, name, pid, tid, begin, end, FLOW_NONE, 0);
}

void slice_end(struct walk *w)
{
	w->sink->slice_end(w->to);
}

void arg_int(struct walk *w, const char *key, int64_t value)
{
	w->sink->arg_int(w->to, key, value);
}

void arg_link(struct walk *w, const char *key, int64_t value)
{
	w->sink->arg_link(w->to, key, value);
}

void arg_ns(struct walk *w, const char *key, int64_t ns)
{
	w->sink->arg_ns(w->to, key, ns);
}

void arg_text(struct walk *w, const char *key, const char *text)
{
	w->sink->arg_text(w->to, key, text);
}

void arg_place(struct walk *w, const struct trace *t, uint64_t place)
{
	char text[PLACE_TEXT];

	if (t->imported && IMPORT_IS_ROW(place))
		arg_text(w, "place", import_place_text(text, sizeof(text), t, place));
	else
		arg_int(w, "byte", (int64_t)place);
}

void name_track(struct walk *w, uint32_t pid, uint32_t tid, const char *name, int64_t order)
{
	w->sink->track(w->to, pid, tid, name, order);
}

uint32_t place(struct walk *w, const void *owner, uint64_t id, uint32_t pid, uint32_t tid, const char *name, bool nest,
	       int64_t *begin, int64_t *end)
{
	bool new_track, new_lane;
	struct track *track = tracks_find(&w->tracks, owner, id, tid, &new_track);
	struct lane *lane = track ? track_lane(&w->tracks, track, nest, begin, end, &new_lane) : NULL;
	char beside[160];

	if (!lane) {
		w->failed = true;
		return 0;
	}
	if (new_track)
		name_track(w, pid, tid, name, tid);
	if (new_lane) {
		snprintf(beside, sizeof(beside), "%.120s (overlapping)", name);
		name_track(w, pid, lane->tid, beside, tid);
	}
	return lane->tid;
}

size_t walk_process(struct walk *w, const struct trace *t)
{
	const struct run *run = w->s->run;

	for (size_t i = 0; i < run->n_traces; i++) {
		size_t at = (w->last_trace + i) % run->n_traces;

		if (run->traces[at] == t) {
			w->last_trace = at;
			return at;
		}
	}
	return run->n_traces;
}
