/* SPDX-License-Identifier: BSD-2-Clause */
/* html_lanes_process.c: a process's lanes: of each thread the ranges it said, its driver and NCCL calls, and what it was found doing. */
#include "html_lanes.h"

#include <inttypes.h>
#include <string.h>

#include "gap/gap_view.h"
#include "tools/ns.h"
#include "tools/text.h"

enum order { ORDER_RANGES, ORDER_NCCL, ORDER_CALLS, ORDER_DOING };

static struct lane_track like(const struct lanes *x, size_t process, uint32_t tid, enum order order,
			      enum lane_kind kind)
{
	static const char *const what[] = { [ORDER_RANGES] = "ranges",
					    [ORDER_NCCL] = "NCCL calls",
					    [ORDER_CALLS] = "driver calls",
					    [ORDER_DOING] = "doing" };
	const struct summary *s = x->h->s;
	const struct trace *t = s->run->traces[process];
	const char *name = trace_thread_name(t, tid), *command = text_command(t->header.cmdline);
	bool hosts = s->ranks.n_clocks > 1;
	struct lane_track like = { .order = LANE_ORDER_PROCESS | (uint64_t)process << 40 | (uint64_t)tid << 8 | order,
				   .clock = s->ranks.clock_of[process],
				   .device = -1,
				   .kind = kind,
				   .of = t };

	snprintf(like.group, sizeof(like.group), "process %" PRIu32 "%s%.60s · %.60s", t->header.pid,
		 hosts ? " · " : "", hosts ? t->header.host : "", *command ? command : "process");
	snprintf(like.name, sizeof(like.name), "%s: %s%s%" PRIu32, what[order], name, *name ? " " : "thread ", tid);
	return like;
}

/* ---- driver calls ---- */

static void say_call(const struct lanes *x, const struct lane_track *track, const struct lane_item *item,
		     struct lane_words *w)
{
	const struct call *c = item->of;
	const struct trace *t = track->of;
	size_t used = 0, size = sizeof(w->args_room);

	(void)x;
	w->name = call_name(t, c);
	w->args = w->args_room;
	if (c->name && c->name < t->n_kernels)
		used = (size_t)snprintf(w->args_room, size, "%.400s", kernel_title(t, c->name));
	if (c->result)
		snprintf(w->args_room + used, size - used, "%sresult %" PRId32, used ? "; " : "", c->result);
}

static uint32_t key_of(const void *of)
{
	return ((const struct call *)of)->hook;
}

static void calls(struct lanes *x, size_t process, const struct thread_records *r)
{
	const struct trace *t = x->h->s->run->traces[process];
	struct lane_track track = like(x, process, r->tid, ORDER_CALLS, LANE_THREAD);

	track.describe = say_call;
	track.key = key_of;
	track.n_keys = t->n_hooks;
	for (size_t i = 0; i < r->n_calls; i++) {
		const struct call *c = r->calls[i];

		lanes_put(x, lanes_track(x, t->calls, r->tid, &track), c->begin_ns, c->end_ns,
			  call_blocks(c) ? HTML_SYNC : HTML_CALL, c, 0);
	}
}

/* ---- NCCL calls ---- */

static void say_nccl(const struct lanes *x, const struct lane_track *track, const struct lane_item *item,
		     struct lane_words *w)
{
	const struct nccl_call *c = item->of;
	const struct trace *t = track->of;
	char bytes[TEXT_SHORT];

	(void)x;
	w->name = t->nccl_hooks[c->hook] ? t->nccl_hooks[c->hook] : "NCCL call";
	if (nccl_is_collective(c->kind) || nccl_is_message(c->kind)) {
		snprintf(w->args_room, sizeof(w->args_room), "%s of %s, number %" PRIu32, nccl_kind_name(c->kind),
			 text_bytes(bytes, nccl_bytes(c)), c->seq);
		w->args = w->args_room;
	}
}

static void nccl(struct lanes *x, size_t process, const struct thread_records *r)
{
	const struct trace *t = x->h->s->run->traces[process];
	struct lane_track track = like(x, process, r->tid, ORDER_NCCL, LANE_NCCL);

	track.describe = say_nccl;
	for (size_t i = 0; i < r->n_nccl; i++)
		lanes_put(x, lanes_track(x, t->nccl, r->tid, &track), r->nccl[i]->begin_ns, r->nccl[i]->end_ns,
			  HTML_NCCL, r->nccl[i], 0);
}

/* ---- NVTX ranges ---- */

static void say_range(const struct lanes *x, const struct lane_track *track, const struct lane_item *item,
		      struct lane_words *w)
{
	const struct range *r = item->of;

	(void)x;
	(void)track;
	w->name = range_name(w->name_room, sizeof(w->name_room), r);
	if (r->details || r->category || r->domain || r->end_ns == INT64_MAX) {
		snprintf(w->args_room, sizeof(w->args_room), "%.120s%s%.120s%s%.200s%s", r->domain ? r->domain : "",
			 r->category ? " " : "", r->category ? r->category : "", r->details ? " " : "",
			 r->details ? r->details : "", r->end_ns == INT64_MAX ? "; not ended" : "");
		w->args = w->args_room;
	}
}

/* Those of all threads are in one list: the last one's is mostly the next one's. */
static void ranges(struct lanes *x, size_t process)
{
	const struct trace *t = x->h->s->run->traces[process];
	size_t track = NO_TRACK;

	for (size_t i = 0; i < t->n_ranges; i++) {
		const struct range *r = &t->ranges[i];

		if (!i || r->tid != t->ranges[i - 1].tid) {
			struct lane_track this = like(x, process, r->tid, ORDER_RANGES, LANE_RANGES);

			this.describe = say_range;
			track = lanes_track(x, t->ranges, r->tid, &this);
		}
		lanes_put(x, track, r->begin_ns, max64(r->begin_ns, r->end_ns == INT64_MAX ? t->end_ns : r->end_ns),
			  HTML_RANGE, r, 0);
	}
}

void lanes_process(struct lanes *x, size_t process)
{
	const struct process_records *p = threads_process(&x->h->s->threads, x->h->s->run->traces[process]);
	struct lane_track track;

	ranges(x, process);
	for (size_t i = 0; p && i < p->n_threads; i++) {
		const struct thread_records *r = &p->threads[i];

		nccl(x, process, r);
		calls(x, process, r);
		track = like(x, process, r->tid, ORDER_DOING, LANE_STATE);
		lanes_doing(x, process, r, &track);
	}
}
