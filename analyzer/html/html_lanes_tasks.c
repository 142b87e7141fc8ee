/* SPDX-License-Identifier: BSD-2-Clause */
/* html_lanes_tasks.c: what threads were in: on a CPU, ready without one, or waiting, and what for. Of recorded threads, and of those that these
 * waited for. */
#include "html_lanes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "chain/chain_parts.h"
#include "host/host_match.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/syscall_names.h"
#include "tools/text.h"

#define WORKERS 40               /* of one file of probes */
#define LEAST_ON_CPU_NS 1000000  /* of a task that nobody waited for */
#define SAMPLE_REACH_NS 25000000 /* a look stands for so much on either side, at most (gap_view_samples.c) */

enum part { PART_WAITS, PART_READY, PART_RUNS }; /* lane_slice.number */

static enum html_class class_of(enum chain_state state)
{
	switch (state) {
	case CHAIN_ON_CPU:
		return HTML_ON_CPU;
	case CHAIN_QUEUED:
	case CHAIN_THROTTLED:
		return HTML_READY;
	case CHAIN_FILE_READ:
	case CHAIN_FILE_WRITE:
	case CHAIN_FLUSH:
		return HTML_WAIT_FILE;
	case CHAIN_FAULT:
	case CHAIN_SWAP:
	case CHAIN_RECLAIM:
		return HTML_WAIT_MEMORY;
	case CHAIN_SOCKET_READ:
	case CHAIN_SOCKET_WRITE:
	case CHAIN_PIPE_READ:
	case CHAIN_PIPE_WRITE:
	case CHAIN_POLL:
		return HTML_WAIT_DATA;
	case CHAIN_LOCK:
		return HTML_WAIT_LOCK;
	case CHAIN_SLEEP:
		return HTML_WAIT_SLEEP;
	default:
		return HTML_WAIT_OTHER;
	}
}

/* ---- a task, by probes ---- */

static void say_wait(const struct lanes *x, const struct lane_track *track, const struct lane_item *item,
		     struct lane_words *w)
{
	const struct host_trace *h = track->of;
	const struct host_wait *wait = item->of;
	struct chain_step step = { .wait = wait };
	char bytes[TEXT_SHORT];

	(void)x;
	if (item->number != PART_WAITS || !wait)
		return;
	step.state = chain_state_of(&h->header, &wait->what, false);
	w->name = chain_state_words(w->name_room, sizeof(w->name_room), h, &step);
	if (wait->by == GST_WOKEN_TASK && wait->waker < h->n_tasks) {
		snprintf(w->args_room, sizeof(w->args_room), "woken by %.16s[%" PRIu32 "]%s%s",
			 h->tasks[wait->waker].name, host_own_tid(&h->tasks[wait->waker]), wait->what.bytes ? "; " : "",
			 wait->what.bytes ? text_bytes(bytes, wait->what.bytes) : "");
		w->args = w->args_room;
	} else if (wait->what.bytes) {
		w->args = text_bytes(w->args_room, wait->what.bytes);
	}
}

static void runs(struct lanes *x, size_t track, int64_t begin_ns, int64_t end_ns)
{
	if (end_ns > begin_ns)
		lanes_put(x, track, begin_ns, end_ns, HTML_ON_CPU, NULL, PART_RUNS);
}

static void task_states(struct lanes *x, size_t track, const struct host_trace *h, const struct host_task *task)
{
	int64_t at = task->begin_ns;

	for (size_t i = 0; i < task->n_waits; i++) {
		const struct host_wait *w = &task->waits[i];
		enum chain_state state = chain_state_of(&h->header, &w->what, task->flags & GST_TASK_KERNEL);

		runs(x, track, at, w->out_ns);
		if (w->wake_ns > w->out_ns)
			lanes_put(x, track, w->out_ns, w->wake_ns, class_of(state), w, PART_WAITS);
		if (w->in_ns > w->wake_ns)
			lanes_put(x, track, w->wake_ns, w->in_ns, HTML_READY, w, PART_READY);
		at = max64(at, w->in_ns);
	}
	runs(x, track, at, task->end_ns);
}

/* ---- a recorded thread, by the recorder's looks ---- */

static struct host_what what_of(const struct sample *s)
{
	return (struct host_what){ .file = s->file,
				   .arg = s->arg,
				   .syscall = s->syscall,
				   .flags = s->syscall == -2 ? GST_WAIT_FAULT : 0,
				   .fd_kind = (uint8_t)s->fd_kind };
}

static void say_look(const struct lanes *x, const struct lane_track *track, const struct lane_item *item,
		     struct lane_words *w)
{
	const struct sample *s = item->of;
	const struct trace *t = track->of;
	const struct syscall_name *call = syscall_find(&t->header, s->syscall);

	(void)x;
	if (s->syscall == SAMPLE_ON_CPU)
		return;
	snprintf(w->name_room, sizeof(w->name_room), "%s%s%.400s",
		 s->syscall == -2 ? "page fault"
		 : call           ? call->name
				  : "a system call",
		 s->file && *s->file ? " " : "", s->file ? s->file : "");
	w->name = w->name_room;
	w->args = "by looks now and then";
}

static bool same_place(const struct sample *a, const struct sample *b)
{
	return a->syscall == b->syscall && a->fd_kind == b->fd_kind && a->file == b->file;
}

static void put_look(struct lanes *x, const struct thread_records *r, const struct lane_track *track,
		     const struct sample *s, struct interval at)
{
	const struct trace *t = track->of;
	struct host_what what;
	enum chain_state state;

	if (!s || at.end_ns < at.begin_ns)
		return;
	what = what_of(s);
	state = s->syscall == SAMPLE_ON_CPU ? CHAIN_ON_CPU : chain_state_of(&t->header, &what, false);
	lanes_put(x, lanes_track(x, t->samples, r->tid, track), at.begin_ns, at.end_ns, class_of(state), s, 0);
}

/* Between two calls of the thread, or within one: what was seen there says nothing of what is beyond. */
static struct interval between_calls(const struct thread_records *r, size_t *next, int64_t ns)
{
	struct interval at = { INT64_MIN, INT64_MAX };
	const struct call *before;

	while (*next < r->n_calls && r->calls[*next]->begin_ns <= ns)
		++*next;
	before = *next ? r->calls[*next - 1] : NULL;
	if (before)
		at.begin_ns = before->end_ns <= ns ? before->end_ns : before->begin_ns;
	if (*next < r->n_calls)
		at.end_ns = r->calls[*next]->begin_ns;
	if (before && before->end_ns > ns)
		at.end_ns = min64(at.end_ns, before->end_ns);
	return at;
}

static void looks(struct lanes *x, const struct thread_records *r, const struct lane_track *like)
{
	struct lane_track track = *like;
	struct interval drawn = {
		0, INT64_MIN
	}; /* of `of`: it is put when it is seen that the next look is of another place */
	const struct sample *of = NULL;
	size_t next_call = 0;

	track.describe = say_look;
	for (size_t i = 0; i < r->n_samples; i++) {
		const struct sample *s = r->samples[i];
		int64_t at = s->time_ns;
		struct interval room = between_calls(r, &next_call, at);
		int64_t begin = max64(room.begin_ns, at - SAMPLE_REACH_NS),
			end = min64(room.end_ns, at + SAMPLE_REACH_NS);

		begin = i ? max64(begin, middle64(r->samples[i - 1]->time_ns, at)) : begin;
		end = i + 1 < r->n_samples ? min64(end, middle64(at, r->samples[i + 1]->time_ns)) : end;
		if (of && drawn.end_ns == begin && same_place(of, s)) {
			drawn.end_ns = end;
			continue;
		}
		put_look(x, r, &track, of, drawn);
		of = s;
		drawn = (struct interval){ begin, end };
	}
	put_look(x, r, &track, of, drawn);
}

static struct host_match match_of(const struct lanes *x, size_t process, const struct thread_records *r)
{
	const struct run *run = x->h->s->run;
	int64_t at = r->n_calls     ? r->calls[0]->begin_ns
		     : r->n_samples ? r->samples[0]->time_ns
				    : run->traces[process]->begin_ns;

	return host_match_find(run->hosts, run->n_hosts, run->traces[process], r->tid, at);
}

void lanes_doing(struct lanes *x, size_t process, const struct thread_records *r, const struct lane_track *like)
{
	struct host_match m = match_of(x, process, r);
	struct lane_track track = *like;

	if (!m.task) {
		looks(x, r, like);
		return;
	}
	track.of = m.host;
	track.describe = say_wait;
	task_states(x, lanes_track(x, m.task, 0, &track), m.host, m.task);
}

/* ---- workers: who else was waited for, or worked ---- */

struct worker {
	const struct host_task *task;
	int64_t waited_ns; /* it is in the chains of gaps so long */
	int64_t on_cpu_ns;
	bool shown;    /* as a recorded thread */
	bool stranger; /* not the program's: it comes behind those */
};

static int by_part(const void *a, const void *b)
{
	const struct worker *p = a, *q = b;

	if (p->shown != q->shown)
		return p->shown - q->shown;
	if (p->stranger != q->stranger)
		return p->stranger - q->stranger;
	if (p->waited_ns != q->waited_ns)
		return p->waited_ns < q->waited_ns ? 1 : -1;
	if (p->on_cpu_ns != q->on_cpu_ns)
		return p->on_cpu_ns < q->on_cpu_ns ? 1 : -1;
	return (p->task > q->task) - (p->task < q->task);
}

static void add_chain(struct worker *workers, const struct host_trace *h, const struct gap_cause *c)
{
	for (size_t i = 0; i < c->n_chain; i++) {
		const struct chain_link *link = &c->chain[i];

		if (h->n_tasks && link->task >= h->tasks && link->task < h->tasks + h->n_tasks)
			workers[link->task - h->tasks].waited_ns =
				sum64(workers[link->task - h->tasks].waited_ns, link->end_ns - link->begin_ns);
	}
}

static void find_parts(const struct lanes *x, struct worker *workers, const struct host_trace *h)
{
	const struct summary *s = x->h->s;

	for (size_t i = 0; i < h->n_tasks; i++) {
		const struct host_task *task = &h->tasks[i];
		const struct host_wait *last = task->n_waits ? &task->waits[task->n_waits - 1] : NULL;

		workers[i].task = task;
		workers[i].on_cpu_ns =
			task->end_ns - task->begin_ns - (last ? last->off_before_ns + last->in_ns - last->out_ns : 0);
		workers[i].stranger = task->flags & (GST_TASK_KERNEL | GST_TASK_STRANGER);
		if (workers[i].stranger)
			workers[i].on_cpu_ns = 0;
	}
	for (size_t d = 0; d < s->n_devices; d++) {
		for (size_t i = 0; i < s->devices[d].attribution.n_gaps; i++) {
			const struct gap_story *g = &s->devices[d].attribution.gaps[i];

			for (size_t k = 0; k < g->n_causes; k++)
				add_chain(workers, h, &g->causes[k]);
		}
	}
	for (size_t p = 0; p < s->run->n_traces; p++) {
		const struct process_records *records = threads_process(&s->threads, s->run->traces[p]);

		for (size_t i = 0; records && i < records->n_threads; i++) {
			struct host_match m = match_of(x, p, &records->threads[i]);

			if (m.host == h && m.task)
				workers[m.task - h->tasks].shown = true;
		}
	}
}

/* The recorder's and the collector's own threads: nobody's work, unless somebody waited for them. */
static bool is_ours(const struct host_task *task)
{
	static const char own[] = "gpushim";

	return strncmp(task->name, own, sizeof(own) - 1) == 0;
}

uint32_t lanes_host_clock(const struct lanes *x, size_t host)
{
	const struct run *run = x->h->s->run;

	for (size_t i = 0; i < run->n_traces; i++) {
		if (host_match_process(&run->hosts[host], 1, run->traces[i]))
			return x->h->s->ranks.clock_of[i];
	}
	return 0;
}

void lanes_host_group(char *buf, size_t size, const struct lanes *x, size_t host, const char *what)
{
	bool several = x->h->s->run->n_hosts > 1;

	snprintf(buf, size, "%s%s%.60s", what, several ? " · " : "",
		 several ? x->h->s->run->hosts[host]->header.host : "");
}

static void workers(struct lanes *x, size_t host)
{
	const struct host_trace *h = x->h->s->run->hosts[host];
	struct worker *all = array_new(h->n_tasks, sizeof(*all));
	struct lane_track track = {
		.clock = lanes_host_clock(x, host), .device = -1, .kind = LANE_WORKER, .describe = say_wait, .of = h
	};

	if (!all) {
		x->failed = true;
		return;
	}
	find_parts(x, all, h);
	qsort(all, h->n_tasks, sizeof(*all), by_part);
	lanes_host_group(track.group, sizeof(track.group), x, host, "workers and other threads");
	for (size_t i = 0; i < h->n_tasks && i < WORKERS && !all[i].shown; i++) {
		const struct host_task *task = all[i].task;

		if (!all[i].waited_ns && (all[i].on_cpu_ns < LEAST_ON_CPU_NS || is_ours(task)))
			continue;
		snprintf(track.name, sizeof(track.name), "%.16s[%" PRIu32 "]%s", task->name, host_own_tid(task),
			 task->flags & GST_TASK_KERNEL ? " (kernel)"
			 : all[i].stranger             ? " (another program's)"
						       : "");
		track.order = LANE_ORDER_HOST | (uint64_t)host << 40 | i;
		task_states(x, lanes_track(x, task, 0, &track), h, task);
	}
	free(all);
}

void lanes_host(struct lanes *x, size_t host)
{
	workers(x, host);
	lanes_disks(x, host);
}
