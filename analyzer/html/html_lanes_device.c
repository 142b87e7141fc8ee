/* SPDX-License-Identifier: BSD-2-Clause */
/* html_lanes_device.c: a device's lanes: its steps, when it was idle and why, what cannot be told, exposed communication, its streams. */
#include "html_lanes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/alloc.h"
#include "tools/text.h"

/* Within one device's part of the page. */
enum order { ORDER_STEPS, ORDER_IDLE, ORDER_UNRESOLVED, ORDER_NCCL, ORDER_STREAM, ORDER_HOSTFN, ORDER_UNDRAWN };

static struct lane_track like(const struct lanes *x, size_t device, enum order order, enum lane_kind kind,
			      const char *name)
{
	const struct summary *s = x->h->s;
	const struct summary_device *d = &s->devices[device];
	struct lane_track t = { .order = (uint64_t)device << 32 | (uint64_t)order << 24,
				.clock = html_clock_of_device(x->h, device),
				.device = (int32_t)device,
				.kind = kind };
	char rank[24] = "";

	if (s->ranks.n_members > 1 && d->rank != GST_NONE)
		snprintf(rank, sizeof(rank), " · rank %" PRIu32, d->rank);
	snprintf(t.group, sizeof(t.group), "device %" PRIu32 " · %s%s%s%.60s", d->number, d->name, rank,
		 s->ranks.n_clocks > 1 ? " · " : "",
		 s->ranks.n_clocks > 1 ? s->ranks.clocks[t.clock].header->host : "");
	snprintf(t.name, sizeof(t.name), "%s", name);
	return t;
}

/* ---- steps ---- */

static void say_step(const struct lanes *x, const struct lane_track *track, const struct lane_item *item,
		     struct lane_words *w)
{
	(void)x;
	(void)track;
	w->name = step_name(w->name_room, sizeof(w->name_room), item->of);
}

static void steps(struct lanes *x, size_t device)
{
	const struct device_phases *p = &x->h->s->devices[device].phases;
	struct lane_track t = like(x, device, ORDER_STEPS, LANE_STEPS, "steps");
	size_t outlier = 0;

	t.describe = say_step;
	t.clock = p->of ? html_clock_of_trace(x->h, p->of->trace) : t.clock;
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct step *s = p->steps[i].step;
		enum html_class class = s->kind == STEP_BETWEEN ? HTML_BETWEEN : HTML_STEP;

		if (outlier < p->usual.n_outliers && p->usual.outliers[outlier].index == i) {
			outlier++;
			class = HTML_STEP_LONG;
		}
		lanes_put(x, lanes_track(x, p, ORDER_STEPS, &t), s->begin_ns, s->end_ns, class, s, 0);
	}
}

/* ---- idle time ---- */

static void idle(struct lanes *x, size_t device)
{
	const struct summary_device *d = &x->h->s->devices[device];
	struct lane_track t = like(x, device, ORDER_IDLE, LANE_IDLE, "idle, and why");

	for (size_t i = 0; i < d->attribution.n_gaps; i++) {
		const struct gap_story *g = &d->attribution.gaps[i];

		for (size_t k = 0; k < g->n_causes; k++) {
			const struct gap_cause *c = &g->causes[k];

			lanes_put(x, lanes_track(x, d, ORDER_IDLE, &t), c->begin_ns, c->end_ns, html_cause(c->cause), c,
				  1 + d->first_gap + i);
		}
	}
}

static void intervals(struct lanes *x, size_t device, enum order order, const struct interval *at, size_t n,
		      enum html_class class, const char *name)
{
	enum lane_kind kind = order == ORDER_UNRESOLVED ? LANE_UNRESOLVED : LANE_STREAM;
	struct lane_track t = like(x, device, order, kind, name);

	for (size_t i = 0; i < n; i++)
		lanes_put(x, lanes_track(x, x->h->s->devices[device].timeline, (uint64_t)order << 60, &t),
			  at[i].begin_ns, at[i].end_ns, class, NULL, 0);
}

/* ---- exposed communication ---- */

struct part {
	struct interval at;
	enum html_class class;
};

static int by_begin(const void *a, const void *b)
{
	const struct part *p = a, *q = b;

	return (p->at.begin_ns > q->at.begin_ns) - (p->at.begin_ns < q->at.begin_ns);
}

static bool add_parts(struct part *parts, size_t *n, const struct intervals *from, enum html_class class)
{
	for (size_t i = 0; i < from->n; i++)
		parts[(*n)++] = (struct part){ .at = from->at[i], .class = class };
	return true;
}

/* Where the ranks' collectives could be told apart into waiting and transfer. */
static void communication(struct lanes *x, size_t device)
{
	const struct ranks *r = &x->h->s->ranks;
	const struct rank_device *d = device < r->n_devices ? &r->devices[device] : NULL;
	struct lane_track t = like(x, device, ORDER_NCCL, LANE_NCCL, "exposed collectives");
	struct part *parts;
	size_t n = 0;

	if (!d || !(d->wait.n + d->transfer.n))
		return;
	parts = array_new(d->wait.n + d->transfer.n, sizeof(*parts));
	if (!parts) {
		x->failed = true;
		return;
	}
	add_parts(parts, &n, &d->wait, HTML_COMM_WAIT);
	add_parts(parts, &n, &d->transfer, HTML_COMM);
	array_sort(parts, n, sizeof(*parts), by_begin);
	for (size_t i = 0; i < n; i++)
		lanes_put(x, lanes_track(x, d, ORDER_NCCL, &t), parts[i].at.begin_ns, parts[i].at.end_ns,
			  parts[i].class, NULL, 0);
	free(parts);
}

/* ---- streams ---- */

static enum html_class class_of(const struct op *op)
{
	static const enum html_class classes[] = { [OP_KERNEL] = HTML_COMPUTE,
						   [OP_COMM] = HTML_COMM,
						   [OP_COPY] = HTML_COPY,
						   [OP_MEMSET] = HTML_MEMSET,
						   [OP_HOSTFN] = HTML_HOSTFN };

	return classes[op->of->class];
}

static size_t say_size(const struct op *op, char *buf, size_t size)
{
	char bytes[TEXT_SHORT];
	const struct call *c = op->call;

	if (op->of->class == OP_COPY || op->of->class == OP_MEMSET)
		return (size_t)snprintf(buf, size, "%s", text_bytes(bytes, op_bytes(op)));
	if (c->family == GST_FAMILY_LAUNCH && !op->of->unlinked)
		return (size_t)snprintf(buf, size,
					"grid %" PRIu32 " × %" PRIu32 " × %" PRIu32 " of %" PRIu32 " threads",
					(uint32_t)c->args[0], (uint32_t)(c->args[0] >> 32), (uint32_t)c->args[1],
					(uint32_t)(c->args[1] >> 32));
	if (op->of->count > 1)
		return (size_t)snprintf(buf, size, "%" PRIu32 " operations", op->of->count);
	return 0;
}

static void say_work(const struct lanes *x, const struct lane_track *track, const struct lane_item *item,
		     struct lane_words *w)
{
	const struct op *op = item->of;
	size_t used = say_size(op, w->args_room, sizeof(w->args_room));
	uint64_t launched, began;

	w->name = op_label(op);
	w->args = w->args_room;
	if (!op->of->exact)
		snprintf(w->args_room + used, sizeof(w->args_room) - used, "%splaced: it ran within a known stretch",
			 used ? "; " : "");
	if (op->of->unlinked)
		return;
	launched = html_ns(x->h, html_clock_of_trace(x->h, op->of->trace), op->call->begin_ns);
	began = html_ns(x->h, track->clock, op->begin_ns);
	w->launched_ns = launched <= began ? 1 + began - launched : 0;
	w->launch = op->call;
	w->launched_by = op->of->trace;
}

/* Of one process: kernels by their number, what else there is behind those. */
static uint32_t key_of(const void *of)
{
	const struct op *op = of;
	uint32_t kernels =
		op->of->trace->n_kernels < UINT32_MAX / 2 ? (uint32_t)op->of->trace->n_kernels : UINT32_MAX / 2;

	if (op->of->class == OP_COPY)
		return kernels + op->of->copy;
	if (op->of->class == OP_MEMSET || op->of->class == OP_HOSTFN)
		return kernels + 16 + op->of->class;
	return op_kernel_index(op);
}

static void stream_name(char *buf, size_t size, const struct lanes *x, const struct op *op)
{
	const struct stream *s =
		op->call->stream < op->of->trace->n_streams ? &op->of->trace->streams[op->call->stream] : NULL;
	char process[32] = "";

	if (x->h->s->run->n_traces > 1)
		snprintf(process, sizeof(process), " of process %" PRIu32, op->of->trace->header.pid);
	if (s)
		snprintf(buf, size, "stream %" PRIu32 "%s%s", s->id, s->kind == GST_STREAM_LEGACY ? " (default)" : "",
			 process);
	else
		snprintf(buf, size, "stream not known%s", process);
}

/* A device has few streams, but as many pieces of work as there are: the last one met is mostly the next one's. */
struct streams {
	size_t track;
	const struct trace *trace;
	uint32_t stream;
	bool known, hostfn;
};

static size_t track_of(struct lanes *x, size_t device, const struct op *op, struct streams *last)
{
	bool hostfn = op->of->class == OP_HOSTFN;
	struct lane_track t;

	if (last->known && last->trace == op->of->trace && last->stream == op->call->stream && last->hostfn == hostfn)
		return last->track;
	t = like(x, device, hostfn ? ORDER_HOSTFN : ORDER_STREAM, LANE_STREAM, "host functions");
	t.order |= hostfn ? 0 : x->places.next_tid;
	t.describe = say_work;
	t.key = hostfn ? NULL : key_of;
	t.n_keys = op->of->trace->n_kernels + 32;
	if (!hostfn)
		stream_name(t.name, sizeof(t.name), x, op);
	*last = (struct streams){ .known = true, .trace = op->of->trace, .stream = op->call->stream, .hostfn = hostfn };
	last->track = hostfn ? lanes_track(x, x->h->s->devices[device].timeline, (uint64_t)ORDER_HOSTFN << 60, &t)
			     : lanes_track(x, op->of->trace, (uint64_t)device << 32 | op->call->stream, &t);
	return last->track;
}

static void work(struct lanes *x, size_t device)
{
	const struct device_timeline *d = x->h->s->devices[device].timeline;
	struct streams last = { 0 };

	for (size_t i = 0; i < d->n_ops; i++) {
		const struct op *op = &d->ops[i];

		lanes_put(x, track_of(x, device, op, &last), op->begin_ns, op->end_ns, class_of(op), op, 0);
	}
}

void lanes_device(struct lanes *x, size_t device)
{
	const struct device_timeline *d = x->h->s->devices[device].timeline;

	steps(x, device);
	idle(x, device);
	intervals(x, device, ORDER_UNRESOLVED, d->unresolved, d->n_unresolved, HTML_UNRESOLVED,
		  "busy or idle: not to be told");
	communication(x, device);
	work(x, device);
	intervals(x, device, ORDER_UNDRAWN, d->undrawn, d->n_undrawn, HTML_UNDRAWN, "busy, with what is not known");
}
