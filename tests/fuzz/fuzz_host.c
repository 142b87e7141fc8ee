/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a file of host probes: nothing crashes, tasks and waits are in order and disjoint, and the walk back tiles what it was asked about.
 * The input is the compact form of tests/support/gst_compact.h. */
#include <stdlib.h>
#include <string.h>

#include "chain/chain.h"
#include "common.h"
#include "host/host_match.h"
#include "report/report.h"
#include "tests/support/gst_compact.h"

static bool time_holds(int64_t ns)
{
	return ns >= 0 && ns <= CLOCK_MAX_NS;
}

static void check_waits(const struct host_trace *h, size_t number)
{
	const struct host_task *task = &h->tasks[number];
	int64_t off = 0;

	for (size_t i = 0; i < task->n_waits; i++) {
		const struct host_wait *w = &task->waits[i];

		require(w->task == number && time_holds(w->out_ns) && time_holds(w->in_ns));
		require(w->out_ns < w->in_ns && w->out_ns <= w->wake_ns && w->wake_ns <= w->in_ns);
		require(w->throttled_ns >= 0 && w->throttled_ns <= w->in_ns - w->wake_ns);
		require(i == 0 || task->waits[i - 1].in_ns <= w->out_ns);
		require(w->waker == HOST_NOBODY || (w->waker < h->n_tasks && w->waker != number));
		require(w->off_before_ns == off);
		require(host_wait_after(task, w->out_ns) == i && host_wait_after(task, w->in_ns) == i + 1);
		off += w->in_ns - w->out_ns;
	}
}

static void check_lists(const struct host_trace *h, size_t number)
{
	const struct host_task *task = &h->tasks[number];

	for (size_t i = 0; i < task->n_stalls; i++) {
		const struct host_stalls *s = &task->stalls[i];

		require(s->task == number && time_holds(s->begin_ns) && time_holds(s->end_ns));
		require(s->blocked_ns >= 0 && s->queued_ns >= 0 && s->throttled_ns >= 0 &&
			s->throttled_ns <= s->queued_ns);
		require(s->blocked_ns + s->queued_ns <= s->end_ns - s->begin_ns);
		require(i == 0 || task->stalls[i - 1].begin_ns <= s->begin_ns);
	}
	for (size_t i = 0; i < task->n_reclaims; i++)
		require(task->reclaims[i].task == number && task->reclaims[i].begin_ns <= task->reclaims[i].end_ns &&
			(i == 0 || task->reclaims[i - 1].end_ns <= task->reclaims[i].begin_ns));
	for (size_t i = 0; i < task->n_written; i++)
		require(task->written[i].task == number && task->written[i].begin_ns <= task->written[i].end_ns &&
			(i == 0 || task->written[i - 1].end_ns <= task->written[i].begin_ns));
	for (size_t i = 0; i < task->n_on_cpu; i++)
		require(task->on_cpu[i].task == number &&
			(i == 0 || task->on_cpu[i - 1].at_ns <= task->on_cpu[i].at_ns));
}

static void check_tasks(const struct host_trace *h)
{
	for (size_t i = 0; i < h->n_tasks; i++) {
		const struct host_task *task = &h->tasks[i];

		require(time_holds(task->begin_ns) && time_holds(task->end_ns) && task->begin_ns <= task->end_ns);
		require(i == 0 || task[-1].tid < task->tid ||
			(task[-1].tid == task->tid && task[-1].begin_ns <= task->begin_ns));
		require(task->creator == HOST_NOBODY || (task->creator < h->n_tasks && task->creator != i));
		require(task->leader == HOST_NOBODY || h->tasks[task->leader].tid == task->pid);
		require(memchr(task->name, '\0', sizeof(task->name)) != NULL);
		require(i == 0 || host_own_tid(&h->tasks[h->by_own[i - 1]]) <= host_own_tid(&h->tasks[h->by_own[i]]));
		check_waits(h, i);
		check_lists(h, i);
	}
}

static void check_others(const struct host_trace *h)
{
	require(time_holds(h->begin_ns) && time_holds(h->end_ns) && h->begin_ns <= h->end_ns);
	for (size_t i = 0; i < h->n_requests; i++) {
		const struct host_request *r = &h->requests[i];

		require(r->queued_ns <= r->issued_ns && r->issued_ns <= r->done_ns && time_holds(r->queued_ns));
		require(i == 0 || r[-1].done_ns <= r->done_ns);
		require(r->task == HOST_NOBODY || r->task < h->n_tasks);
	}
	for (size_t i = 0; i < h->n_pipe_ends; i++)
		require(i == 0 || h->pipe_ends[i - 1].inode <= h->pipe_ends[i].inode);
	for (size_t i = 0; i < h->n_pressure; i++)
		require(h->pressure[i].begin_ns <= h->pressure[i].end_ns);
}

/* Each task's whole life, and a bit more. */
static void check_walks(const struct host_trace *h)
{
	struct chain chain = { 0 };

	for (size_t i = 0; i < h->n_tasks && i < 64; i++) {
		int64_t begin = h->tasks[i].begin_ns / 2, end = h->tasks[i].end_ns + 1000, at = begin;

		require(chain_walk(&chain, h, &h->tasks[i], begin, end));
		for (size_t k = 0; k < chain.n; k++) {
			const struct chain_segment *s = &chain.at[k];

			require(s->begin_ns == at && s->end_ns > at && s->n_steps >= 1 && s->n_steps <= CHAIN_DEPTH);
			require(s->steps[0].task == &h->tasks[i]);
			at = s->end_ns;
		}
		require(at == end);
	}
	chain_free(&chain);
}

static void check_match(struct host_trace *h)
{
	struct trace t = { .begin_ns = h->begin_ns, .end_ns = h->end_ns, .header = { .pid = 1 } };

	memcpy(t.header.host, h->header.host, sizeof(t.header.host));
	for (uint32_t tid = 0; tid < 10; tid++) {
		struct host_match m = host_match_find(&h, 1, &t, tid, (h->begin_ns + h->end_ns) / 2);

		require(!m.task || (m.host == h && host_own_tid(m.task) == tid && host_own_pid(m.task) == 1));
	}
}

static void check_page(const struct host_trace *h)
{
	static const struct report_style style = { .columns = 80 };
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	require(out != NULL);
	report_info_host(out, h, &style);
	require(fclose(out) == 0);
	for (size_t i = 0; i < len; i++)
		require((unsigned char)text[i] >= ' ' || text[i] == '\n');
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct gst_image image;
	struct host_trace *h;
	struct error e;

	if (!gst_expand(&image, data, len))
		return 0;
	if (gst_image_header(&image)->kind != GST_FILE_HOST) {
		gst_image_free(&image);
		return 0;
	}
	if (host_trace_open_mem(&h, image.bytes, image.len, "fuzz.host.gst", &e) == ERR_NONE) {
		check_tasks(h);
		check_others(h);
		check_walks(h);
		check_match(h);
		check_page(h);
		host_trace_free(h);
	}
	gst_image_free(&image);
	return 0;
}
