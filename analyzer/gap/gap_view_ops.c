/* SPDX-License-Identifier: BSD-2-Clause */
#include "gap_view_ops.h"

#include <string.h>

#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/text.h"

/* ---- calls of the operating system ---- */

struct os_call {
	const char *name;
	enum doing doing;
	enum gst_fd_kind fd_kind;
};

static const struct os_call os_calls[] = {
#define OS_CALL(name, doing, fd_kind) { name, doing, fd_kind },
#include "os_calls.def"
};

static const struct os_call *os_call_find(const char *name)
{
	size_t length;

	while (*name == '_')
		name++;
	length = strlen(name);
	if (length > 2 && strcmp(name + length - 2, "64") == 0)
		length -= 2;
	for (size_t i = 0; i < sizeof(os_calls) / sizeof(os_calls[0]); i++)
		if (strncmp(name, os_calls[i].name, length) == 0 && !os_calls[i].name[length])
			return &os_calls[i];
	return NULL;
}

static const struct os_call *os_call_of(const struct gap_view *v, const struct op_piece *p)
{
	const struct host_op *op = op_of(v->trace, p->inner);

	return op && op->kind == HOST_OP_OS_CALL ? os_call_find(op_name(v->trace, op)) : NULL;
}

/* A pointer to the name the trace has, as activities have it. */
static bool add_activity(struct gap_view *v, const struct os_call *call, const struct host_op *op, int64_t begin_ns,
			 int64_t end_ns)
{
	struct activity *last = v->n_activities ? &v->activities[v->n_activities - 1] : NULL;

	if (last && last->op == op) { /* something else was within it */
		last->end_ns = end_ns;
		return true;
	}
	if (!array_room(v->activities, v->n_activities, v->cap_activities))
		return false;
	v->activities[v->n_activities++] = (struct activity){ .begin_ns = begin_ns,
							      .end_ns = end_ns,
							      .doing = call->doing,
							      .fd_kind = call->fd_kind,
							      .syscall = call->name,
							      .number = -1,
							      .op = op };
	return true;
}

/* ---- pieces of a stretch of time ---- */

struct op_walk op_walk_begin(const struct op_pieces *pieces, int64_t begin_ns, int64_t end_ns)
{
	return (struct op_walk){ pieces, op_pieces_at(pieces, begin_ns), begin_ns, end_ns };
}

static const struct op_piece nothing;

const struct op_piece *op_walk_on(struct op_walk *w, int64_t *begin_ns, int64_t *end_ns)
{
	const struct op_piece *at = w->pieces->at;
	bool before = w->next < w->pieces->n && at[w->next].begin_ns > w->at_ns; /* before all of them */
	size_t until = before ? w->next : w->next + 1;
	const struct op_piece *now = !before && w->next < w->pieces->n ? &at[w->next] : &nothing;

	if (w->at_ns >= w->end_ns)
		return NULL;
	*begin_ns = w->at_ns;
	*end_ns = until < w->pieces->n ? min64(at[until].begin_ns, w->end_ns) : w->end_ns;
	w->at_ns = *end_ns;
	w->next = until;
	return now;
}

static bool waits_for_others(const struct gap_view *v, const struct op_piece *p)
{
	const struct host_op *op = op_of(v->trace, p->inner);
	const struct os_call *call = os_call_of(v, p);

	if (call)
		return call->doing == DOING_LOCK || call->doing == DOING_OTHER ||
		       (call->doing == DOING_READ && call->fd_kind != GST_FD_FILE);
	return op && op->kind == HOST_OP_OFF_CPU;
}

/* 0: nothing on record, or an activity. */
static enum at_what what_of(const struct gap_view *v, const struct op_piece *p)
{
	const struct op_labels *labels = &v->process->op_labels;
	const struct host_op *op = op_of(v->trace, p->inner);

	if (op && op->kind == HOST_OP_OFF_CPU && labels->of_name[op->name].wants_cpu)
		return AT_NO_CPU;
	switch (op_loader_kind(v->trace, labels, p->loader)) {
	case LOADER_WORKS:
		return AT_WORKING_LOADER;
	case LOADER_WAITS:
		return AT_WAITING_LOADER;
	case LOADER_EITHER:
		return waits_for_others(v, p) ? AT_WAITING_LOADER : AT_WORKING_LOADER;
	case LOADER_SAVES:
		return AT_SAVING;
	case LOADER_NONE:
		break;
	}
	if (!op || os_call_of(v, p))
		return 0;
	return op->kind == HOST_OP_OFF_CPU ? AT_WAIT : AT_CODE;
}

/* ---- stretches ---- */

static bool is_loaders(enum at_what what)
{
	return what == AT_WORKING_LOADER || what == AT_WAITING_LOADER || what == AT_SAVING;
}

static bool goes_on(const struct stretch *s, enum at_what what, const struct op_piece *p, int64_t begin_ns)
{
	return s->what == what && s->end_ns == begin_ns && s->piece->loader == p->loader;
}

static bool add_stretch(struct gap_view *v, size_t first, enum at_what what, const struct op_piece *p,
			const struct silence *silence, int64_t begin_ns, int64_t end_ns)
{
	struct stretch *last = v->n_stretches > first ? &v->stretches[v->n_stretches - 1] : NULL;

	if (last && goes_on(last, what, p, begin_ns)) {
		last->end_ns = end_ns;
		if (end_ns - begin_ns <= last->piece_ns)
			return true;
		last->piece = p;
		last->piece_ns = end_ns - begin_ns;
		return true;
	}
	if (!array_room(v->stretches, v->n_stretches, v->cap_stretches))
		return false;
	v->stretches[v->n_stretches++] = (struct stretch){ begin_ns, end_ns, what, p, end_ns - begin_ns, silence };
	return true;
}

/* The way from the loader to the submission is its, too, where it is short: had the batch been there in time, work would have been queued ahead, and
 * nobody would have seen that way. */
static void take_way(struct gap_view *v)
{
	struct stretch *last = v->n_stretches ? &v->stretches[v->n_stretches - 1] : NULL;

	if (last && v->submit_begin_ns - last->end_ns <= PASSING_NS)
		last->end_ns = v->gap->end_ns;
}

/* What is a loader's, or a saver's, is so within driver calls too. */
static bool add_loaders(struct gap_view *v)
{
	struct op_walk w = op_walk_begin(&v->records->ops, v->gap->begin_ns, v->submit_begin_ns);
	const struct op_piece *p;
	int64_t begin, end;

	while ((p = op_walk_on(&w, &begin, &end))) {
		enum at_what what = p->loader ? what_of(v, p) : 0;

		if (is_loaders(what) && !add_stretch(v, 0, what, p, NULL, begin, end))
			return false;
	}
	take_way(v);
	return true;
}

static void count_piece(struct silence_ops *ops, const struct op_piece *p, int64_t ns)
{
	ops->n++;
	ops->passes = ops->passes && !p->loader && ns <= BRIEF_NS;
	if (p->inner != OP_NONE && ns > ops->piece_ns) {
		ops->piece = p;
		ops->piece_ns = ns;
	}
	ops->longest_ns = max64(ops->longest_ns, ns);
}

/* Brief times of no op belong to the code next to them: an interpreter's way from one operator to the next. */
static bool add_nothing(struct gap_view *v, size_t first, int64_t begin_ns, int64_t end_ns, int64_t *lead_ns)
{
	struct stretch *last = v->n_stretches > first ? &v->stretches[v->n_stretches - 1] : NULL;

	if (end_ns - begin_ns > BRIEF_NS)
		return true;
	if (last && last->what == AT_CODE && last->end_ns == begin_ns)
		last->end_ns = end_ns;
	else
		*lead_ns = begin_ns;
	return true;
}

/* The piece, and where it is cut to the gap. */
static bool add_piece(struct gap_view *v, size_t first, struct silence *s, const struct op_piece *p, int64_t begin_ns,
		      int64_t end_ns, int64_t *lead_ns)
{
	enum at_what what = what_of(v, p);
	const struct os_call *call = p->loader ? NULL : os_call_of(v, p);
	int64_t lead = *lead_ns;

	*lead_ns = INT64_MAX;
	if (what == AT_NO_CPU || what == AT_WAIT)
		s->ops.passes = false;
	if (is_loaders(what) || end_ns <= v->gap->begin_ns)
		return true;
	begin_ns = max64(begin_ns, v->gap->begin_ns);
	if (call)
		return add_activity(v, call, op_of(v->trace, p->inner), begin_ns, end_ns);
	if (!what)
		return add_nothing(v, first, begin_ns, end_ns, lead_ns);
	if (what == AT_CODE)
		begin_ns = min64(begin_ns, lead);
	return add_stretch(v, first, what, p, s, begin_ns, end_ns);
}

static bool add_silence(struct gap_view *v, struct silence *s)
{
	struct op_walk w = op_walk_begin(&v->records->ops, s->begin_ns, s->end_ns);
	size_t first = v->n_stretches;
	int64_t begin, end, lead_ns = INT64_MAX;
	const struct op_piece *p;

	s->ops.passes = s->begin_known && s->end_ns - s->begin_ns <= PASSING_NS;
	while ((p = op_walk_on(&w, &begin, &end))) {
		count_piece(&s->ops, p, end - begin);
		if (!add_piece(v, first, s, p, begin, end, &lead_ns))
			return false;
	}
	return true;
}

bool gap_view_has_ops(const struct gap_view *v)
{
	return v->records && (v->trace->imported || v->trace->host_ops.n);
}

bool gap_view_set_ops(struct gap_view *v)
{
	if (!gap_view_has_ops(v))
		return true;
	if (!add_loaders(v))
		return false;
	for (size_t i = 0; i < v->n_silences; i++)
		if (!add_silence(v, &v->silences[i]))
			return false;
	return true;
}

/* ---- from call to call ---- */

bool gap_view_passes(const struct gap_view *v, const struct silence *s)
{
	return s->ops.passes && !(v->blocking && v->blocking->end_ns == s->begin_ns);
}

bool gap_view_is_short(const struct gap_view *v, const struct call *c)
{
	return since64(c->end_ns, c->begin_ns) <= max64(BRIEF_NS, 4 * v->records->cost_ns[c->family]);
}

/* begin_ns of a call may be anything, but is not negative. */
static bool is_passing_call(const struct gap_view *v, const struct call *c)
{
	return gap_view_is_short(v, c) && !call_asked_in_vain(c) && !call_blocks(c);
}

const struct silence *gap_view_passing(const struct gap_view *v)
{
	const struct silence *longest = NULL;

	if (!v->submit || v->ready || v->blocking)
		return NULL;
	for (size_t i = 0; i < v->n_silences; i++) {
		const struct silence *s = &v->silences[i];

		if (!gap_view_passes(v, s))
			return NULL;
		if (!longest || s->end_ns - s->begin_ns > longest->end_ns - longest->begin_ns)
			longest = s;
	}
	for (size_t i = 0; i < v->n_calls; i++)
		if (v->calls[i]->end_ns > v->gap->begin_ns && !is_passing_call(v, v->calls[i]))
			return NULL;
	return longest;
}
