/* SPDX-License-Identifier: BSD-2-Clause */
/* export_perfetto.c: the timeline as Perfetto's own trace: about a third of the bytes of Chrome's form, and half its memory in the viewer.
 * Times are those of CLOCK_MONOTONIC on the reference host, to the nanosecond. What tracks and arrows say, arguments do not repeat. */
#include "export.h"

#include <inttypes.h>

#include "export_perfetto_parts.h"
#include "export_walk.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/text.h"

#define TEXT_MOST 16384 /* of an argument's text, as in JSON */

struct perfetto {
	struct sequences s;
	struct sequence *q; /* of the slice that gets its arguments; NULL: there was no memory */
	int64_t begin_ns, end_ns;
};

static void put_head_packet(struct perfetto *x)
{
	pb_uint(&x->s.packet, PACKET_SEQUENCE, 1);
	pb_write(x->s.out, TRACE_PACKET, &x->s.packet);
}

static void head_clock(struct pb *m, uint32_t id, int64_t ns)
{
	size_t clock = pb_open(m, SNAPSHOT_CLOCK);

	pb_uint(m, CLOCK_ID, id);
	pb_uint(m, CLOCK_TIMESTAMP, (uint64_t)max64(ns, 0));
	pb_close(m, clock);
}

static void perfetto_open(void *to, int64_t base_ns, int64_t real_ns)
{
	struct perfetto *x = to;
	struct pb *m = &x->s.packet;
	size_t snapshot;

	x->s.base_ns = base_ns;
	x->s.seed = (uint64_t)real_ns;
	snapshot = pb_open(m, PACKET_CLOCK_SNAPSHOT);
	head_clock(m, MONOTONIC, base_ns);
	if (real_ns > 0)
		head_clock(m, REALTIME, real_ns);
	pb_uint(m, SNAPSHOT_PRIMARY, MONOTONIC);
	pb_close(m, snapshot);
	put_head_packet(x);
}

/* ---- tracks ---- */

/* Processes and devices have no sequence: they are but tracks that others lie below. */
#define TID_NONE UINT32_MAX
#define KIND_PROCESS UINT32_MAX

static uint64_t process_uuid(const struct perfetto *x, uint32_t pid)
{
	return sequence_uuid(&x->s, pid, TID_NONE, KIND_PROCESS);
}

static void put_name(struct pb *m, uint32_t field, const char *name)
{
	char clean[512];

	pb_text(m, field, text_clean(clean, sizeof(clean), name, 200));
}

/* A device is no process of the system: one of its number would be. */
static void perfetto_process(void *to, const struct sink_process *p)
{
	struct perfetto *x = to;
	struct pb *m = &x->s.packet;
	size_t track, process;

	pb_clear(m);
	track = pb_open(m, PACKET_TRACK);
	pb_uint(m, TRACK_UUID, process_uuid(x, p->pid));
	if (p->device) {
		put_name(m, TRACK_NAME, p->name);
	} else {
		process = pb_open(m, TRACK_PROCESS);
		pb_int(m, PROCESS_PID, (int32_t)p->pid);
		pb_int(m, PROCESS_SORT, (int32_t)clamp64(p->order, 0, INT32_MAX));
		put_name(m, PROCESS_NAME, p->name);
		pb_close(m, process);
	}
	pb_uint(m, TRACK_CHILD_ORDER, EXPLICIT);
	pb_close(m, track);
	put_head_packet(x);
}

/* unit: 0 for slices. */
static void put_track(struct perfetto *x, const struct sequence *q, const char *name, int64_t order, uint32_t unit)
{
	struct pb *m = &x->s.packet;
	size_t track, counter;

	pb_clear(m);
	track = pb_open(m, PACKET_TRACK);
	pb_uint(m, TRACK_UUID, q->uuid);
	pb_uint(m, TRACK_PARENT, process_uuid(x, q->pid));
	put_name(m, TRACK_NAME, name);
	pb_uint(m, TRACK_RANK, (uint64_t)clamp64(order, 0, INT32_MAX));
	if (unit) {
		counter = pb_open(m, TRACK_COUNTER);
		pb_uint(m, COUNTER_UNIT, unit);
		pb_close(m, counter);
	}
	pb_close(m, track);
	put_head_packet(x);
}

static void perfetto_track(void *to, uint32_t pid, uint32_t tid, const char *name, int64_t order)
{
	struct perfetto *x = to;
	bool is_new;
	struct sequence *q = sequence_get(&x->s, pid, tid, 0, &is_new);

	if (q && is_new)
		put_track(x, q, name, order, 0);
}

/* ---- slices ---- */

/* Those that are over by then end first. A slice never reaches beyond the one that it lies in. */
static void perfetto_slice_begin(void *to, const struct sink_slice *s)
{
	struct perfetto *x = to;
	struct pb *m = &x->s.event;
	char clean[1024];
	bool is_new;

	x->q = sequence_get(&x->s, s->pid, s->tid, 0, &is_new);
	if (!x->q)
		return;
	slices_end(&x->s, x->q, s->begin_ns);
	x->begin_ns = s->begin_ns;
	x->end_ns = x->q->n ? min64(s->end_ns, x->q->ends[x->q->n - 1]) : s->end_ns;
	event_open(&x->s, x->q);
	pb_uint(m, EVENT_TYPE, SLICE_BEGIN);
	pb_uint(m, EVENT_CATEGORY, event_text(&x->s, x->q, CATEGORIES, s->category));
	pb_uint(m, EVENT_NAME,
		event_text(&x->s, x->q, NAMES, text_clean(clean, sizeof(clean), s->name, sizeof(clean))));
	if (s->end == FLOW_FROM)
		pb_fixed64(m, EVENT_FLOW, s->flow);
	if (s->end == FLOW_TO)
		pb_fixed64(m, EVENT_FLOW_END, s->flow);
}

static void perfetto_slice_end(void *to)
{
	struct perfetto *x = to;

	if (!x->q)
		return;
	event_close(&x->s, x->q, x->begin_ns);
	if (array_room(x->q->ends, x->q->n, x->q->cap))
		x->q->ends[x->q->n++] = x->end_ns;
	else
		x->s.failed = true;
}

/* ---- arguments ---- */

static size_t arg_open(struct perfetto *x, const char *key)
{
	size_t arg = pb_open(&x->s.event, EVENT_ARG);

	pb_uint(&x->s.event, ARG_NAME, event_text(&x->s, x->q, ARG_NAMES, key));
	return arg;
}

static void perfetto_int(void *to, const char *key, int64_t value)
{
	struct perfetto *x = to;
	size_t arg;

	if (!x->q)
		return;
	arg = arg_open(x, key);
	pb_int(&x->s.event, ARG_INT, value);
	pb_close(&x->s.event, arg);
}

static void perfetto_link(void *to, const char *key, int64_t value)
{
	(void)to;
	(void)key;
	(void)value;
}

static void perfetto_ns(void *to, const char *key, int64_t ns)
{
	char with_unit[64];

	snprintf(with_unit, sizeof(with_unit), "%s_ns", key);
	perfetto_int(to, with_unit, ns);
}

static void perfetto_double(void *to, const char *key, double value)
{
	struct perfetto *x = to;
	size_t arg;

	if (!x->q)
		return;
	arg = arg_open(x, key);
	pb_double(&x->s.event, ARG_DOUBLE, value);
	pb_close(&x->s.event, arg);
}

static void perfetto_text(void *to, const char *key, const char *text)
{
	struct perfetto *x = to;
	char clean[TEXT_MOST];
	size_t arg;

	if (!x->q)
		return;
	arg = arg_open(x, key);
	pb_uint(&x->s.event, ARG_TEXT_NUMBER,
		event_text(&x->s, x->q, ARG_TEXTS, text_utf8_only(clean, sizeof(clean), text)));
	pb_close(&x->s.event, arg);
}

/* Launches have few different ones: a text that has a number takes less than four of them. */
static void perfetto_shape(void *to, const uint32_t grid[3], uint32_t threads)
{
	char text[64];

	snprintf(text, sizeof(text), "%" PRIu32 ",%" PRIu32 ",%" PRIu32 " x %" PRIu32, grid[0], grid[1], grid[2],
		 threads);
	perfetto_text(to, "grid x threads", text);
}

/* Each is said once: they get no numbers. */
static void perfetto_texts(void *to, const char *key, const char *const *texts, size_t n)
{
	struct perfetto *x = to;
	struct pb *m = &x->s.event;
	char clean[TEXT_MOST];
	size_t arg, item;

	if (!x->q)
		return;
	arg = arg_open(x, key);
	for (size_t i = 0; i < n; i++) {
		item = pb_open(m, ARG_ARRAY);
		pb_text(m, ARG_TEXT, text_utf8_only(clean, sizeof(clean), texts[i]));
		pb_close(m, item);
	}
	pb_close(m, arg);
}

/* ---- counters, the end ---- */

static void perfetto_bytes(void *to, uint32_t pid, const char *name, int64_t at_ns, const char *const *keys,
			   const int64_t *values, size_t n)
{
	struct perfetto *x = to;
	char whole[128];

	for (size_t i = 0; i < n; i++) {
		bool is_new;
		struct sequence *q = sequence_get(&x->s, pid, TID_NONE, (uint32_t)i + 1, &is_new);

		if (!q)
			return;
		if (is_new) {
			snprintf(whole, sizeof(whole), "%s: %s", name, keys[i]);
			put_track(x, q, whole, INT32_MAX, SIZE_BYTES);
		}
		event_open(&x->s, q);
		pb_uint(&x->s.event, EVENT_TYPE, COUNTER);
		pb_int(&x->s.event, EVENT_COUNTER, values[i]);
		event_close(&x->s, q, at_ns);
	}
}

static bool perfetto_close(void *to)
{
	struct perfetto *x = to;

	for (size_t i = 0; i < x->s.n; i++)
		slices_end(&x->s, &x->s.at[i], INT64_MAX);
	return !x->s.failed;
}

static const struct sink perfetto_sink = {
	.open = perfetto_open,
	.process = perfetto_process,
	.track = perfetto_track,
	.slice_begin = perfetto_slice_begin,
	.slice_end = perfetto_slice_end,
	.bytes = perfetto_bytes,
	.arg_int = perfetto_int,
	.arg_link = perfetto_link,
	.arg_ns = perfetto_ns,
	.arg_double = perfetto_double,
	.arg_text = perfetto_text,
	.arg_shape = perfetto_shape,
	.arg_texts = perfetto_texts,
	.close = perfetto_close,
};

enum err_kind export_perfetto(FILE *out, const struct summary *s, bool all, uint64_t *left_out, struct error *e)
{
	struct perfetto x = { .s.out = out };
	enum err_kind kind = export_walk(&perfetto_sink, &x, s, all, left_out, e);

	sequences_free(&x.s);
	return kind;
}
