/* SPDX-License-Identifier: BSD-2-Clause */
#include "gst_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/format_host.h"

static uint32_t number_of(const struct parser *p)
{
	return p->n_words > 1 ? (uint32_t)strtoul(p->words[1], NULL, 0) : 0;
}

static uint32_t small(struct parser *p, const char *key, uint32_t otherwise)
{
	return (uint32_t)word_number(p, key, otherwise);
}

/* A whole file: what the collector says when it begins, and where there is an end what it says then. */
void text_probes(struct parser *p)
{
	static const char *const hows[] = { "", "ebpf", "perf", "proc", NULL };
	struct gst_file_header *h = text_file(p, ".host.gst");
	struct gst_probes r = { .root = number_of(p) };

	if (!h)
		return;
	h->kind = GST_FILE_HOST;
	h->device_level = 0;
	h->machine = GST_MACHINE_X86_64;
	gst_image_seal(&p->file->image);
	r.begin = h->start_mono_ns;
	p->bad |= !gst_image_segment(&p->file->image, 1, "gpushim");
	r.how = word_choice(p, word_value(p, "how"), hows, GST_PROBES_EBPF);
	r.watched = small(p, "watched", (1u << GST_PROBE_COUNT) - 1);
	r.wait_ns = (uint32_t)word_duration(p, "wait", 200000);
	r.period_ns = (uint32_t)word_duration(p, "period", 0);
	r.sample_ns = (uint32_t)word_duration(p, "sample", 0);
	record_add(p, GST_PROBES, &r, sizeof(r));
	r.end = word_instant(p, "end");
	r.events_lost = word_number(p, "lost", 0);
	r.tasks_lost = word_number(p, "tasks-lost", 0);
	r.kernel_ns = word_duration(p, "kernel", 0);
	gst_image_counters(&p->file->image)->exited = r.end != 0;
	if (r.end)
		record_add(p, GST_PROBES, &r, sizeof(r));
}

static void text_task(struct parser *p)
{
	const char *name = word_value(p, "name");
	struct gst_task r = { .tid = number_of(p),
			      .pid = small(p, "pid", number_of(p)),
			      .own_tid = small(p, "own", number_of(p)),
			      .own_pid = small(p, "own-pid", small(p, "pid", number_of(p))),
			      .creator = small(p, "creator", 0),
			      .start_ns = word_instant(p, "start"),
			      .pid_ns = word_number(p, "ns", 1) };
	uint64_t end;

	word_span(p, &r.begin, &end);
	r.flags =
		(uint16_t)((word_flag(p, "root") ? GST_TASK_ROOT : 0) | (word_flag(p, "there") ? GST_TASK_THERE : 0) |
			   (word_flag(p, "stranger") ? GST_TASK_STRANGER : 0) |
			   (word_flag(p, "kernel") ? GST_TASK_KERNEL : 0) | (word_flag(p, "exec") ? GST_TASK_EXEC : 0));
	snprintf(r.name, sizeof(r.name), "%s", name ? name : "task");
	record_add(p, GST_TASK, &r, sizeof(r));
}

static void text_task_end(struct parser *p)
{
	struct gst_task_end r = { .tid = number_of(p) };
	uint64_t end;

	word_span(p, &r.at, &end);
	record_add(p, GST_TASK_END, &r, sizeof(r));
}

static struct gst_wait_for what_for(struct parser *p)
{
	static const char *const kinds[] = { "none", "file", "pipe", "socket", "other", NULL };
	static const struct {
		const char *word;
		uint16_t flag;
	} flags[] = {
		{ "preempted", GST_WAIT_PREEMPTED },   { "disk", GST_WAIT_DISK },
		{ "iowait", GST_WAIT_IOWAIT },         { "fault", GST_WAIT_FAULT },
		{ "anonymous", GST_WAIT_ANONYMOUS },   { "reclaim", GST_WAIT_RECLAIM },
		{ "looked", GST_WAIT_LOOKED },         { "last", GST_WAIT_LAST },
		{ "write-back", GST_WAIT_WRITE_BACK },
	};
	const char *syscall = word_value(p, "syscall");
	struct gst_wait_for r = { .arg = word_number(p, "arg", 0),
				  .offset = word_number(p, "offset", UINT64_MAX),
				  .bytes = word_number(p, "bytes", 0),
				  .inode = word_number(p, "inode", 0),
				  .dev = small(p, "dev", 0),
				  .fs = small(p, "fs", 0),
				  .file = record_name(p, GST_SPACE_FILE, word_value(p, "file")),
				  .syscall = syscall ? atoi(syscall) : -2,
				  .fd_kind = (uint8_t)word_choice(p, word_value(p, "fd"), kinds, GST_FD_NONE) };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		r.flags |= word_flag(p, flags[i].word) ? flags[i].flag : 0;
	return r;
}

static void text_wait(struct parser *p)
{
	static const char *const by[] = { "unknown", "task", "interrupt", "timer", NULL };
	const char *wake = word_value(p, "wake");
	struct gst_wait r = { .tid = number_of(p),
			      .waker = small(p, "waker", 0),
			      .throttled_ns = word_duration(p, "throttled", 0),
			      .what = what_for(p) };

	word_span(p, &r.out, &r.in);
	r.by = word_choice(p, word_value(p, "by"), by, r.waker ? GST_WOKEN_TASK : GST_WOKEN_UNKNOWN);
	if (!wake)
		r.wake = r.what.flags & GST_WAIT_PREEMPTED ? r.out : r.in;
	else if (strcmp(wake, "unknown") != 0)
		r.wake = word_instant(p, "wake");
	record_add(p, GST_WAIT, &r, sizeof(r));
}

static void text_stalls(struct parser *p)
{
	struct gst_stalls r = { .tid = number_of(p),
				.count = small(p, "count", 1),
				.blocked_ns = word_duration(p, "blocked", 0),
				.queued_ns = word_duration(p, "queued", 0),
				.throttled_ns = word_duration(p, "throttled", 0),
				.last_offset = word_number(p, "last", UINT64_MAX),
				.what = what_for(p) };

	word_span(p, &r.begin, &r.end);
	record_add(p, GST_STALLS, &r, sizeof(r));
}

static void text_request(struct parser *p)
{
	struct gst_request r = { .tid = number_of(p),
				 .issued = word_instant(p, "issued"),
				 .dev = small(p, "dev", 0),
				 .file_dev = small(p, "file-dev", 0),
				 .inode = word_number(p, "inode", 0),
				 .offset = word_number(p, "offset", UINT64_MAX),
				 .bytes = small(p, "bytes", 0),
				 .sector = word_number(p, "sector", 0) };

	word_span(p, &r.queued, &r.done);
	if (r.queued == r.done)
		r.queued = 0;
	r.flags = (word_flag(p, "write") ? GST_REQUEST_WRITE : 0u) | (word_flag(p, "flush") ? GST_REQUEST_FLUSH : 0u) |
		  (word_flag(p, "read-ahead") ? GST_REQUEST_READ_AHEAD : 0u) |
		  (word_flag(p, "sync") ? GST_REQUEST_SYNC : 0u);
	record_add(p, GST_REQUEST, &r, sizeof(r));
}

static void text_reclaim(struct parser *p)
{
	struct gst_reclaim r = { .tid = number_of(p),
				 .pages = word_number(p, "pages", 0),
				 .group = small(p, "group", 0) };

	word_span(p, &r.begin, &r.end);
	record_add(p, GST_RECLAIM, &r, sizeof(r));
}

static void text_written(struct parser *p)
{
	struct gst_written r = { .tid = number_of(p), .count = small(p, "count", 1), .what = what_for(p) };

	word_span(p, &r.begin, &r.end);
	record_add(p, GST_WRITTEN, &r, sizeof(r));
}

static void text_pipe_end(struct parser *p)
{
	static const char *const kinds[] = { "none", "file", "pipe", "socket", "other", NULL };
	struct gst_pipe_end r = { .pid = number_of(p),
				  .inode = word_number(p, "inode", 0),
				  .peer = word_number(p, "peer", 0),
				  .fd_kind = (uint8_t)word_choice(p, word_value(p, "fd"), kinds, GST_FD_PIPE) };
	uint64_t end;

	word_span(p, &r.at, &end);
	r.flags = (uint16_t)((word_flag(p, "reads") ? GST_PIPE_READS : 0) |
			     (word_flag(p, "writes") ? GST_PIPE_WRITES : 0));
	record_add(p, GST_PIPE_END, &r, sizeof(r));
}

static void text_pressure(struct parser *p)
{
	struct gst_pressure r = { .cpu_some_us = small(p, "cpu", UINT32_MAX),
				  .memory_some_us = small(p, "memory", UINT32_MAX),
				  .memory_full_us = small(p, "memory-full", UINT32_MAX),
				  .io_some_us = small(p, "io", UINT32_MAX),
				  .io_full_us = small(p, "io-full", UINT32_MAX),
				  .throttled_us = small(p, "throttled", UINT32_MAX),
				  .throttled_periods = small(p, "periods", UINT32_MAX) };

	word_span(p, &r.begin, &r.end);
	record_add(p, GST_PRESSURE, &r, sizeof(r));
}

static void text_on_cpu(struct parser *p)
{
	struct {
		struct gst_on_cpu r;
		uint64_t frames[64];
	} all = { .r = { .tid = number_of(p) } };
	const char *at = word_value(p, "frames");
	uint64_t end;

	word_span(p, &all.r.at, &end);
	while (at && *at && all.r.count < 64) {
		all.frames[all.r.count++] = strtoull(at, (char **)(void *)&at, 0);
		at += *at == ',';
	}
	record_add(p, GST_ON_CPU, &all, sizeof(all.r) + all.r.count * sizeof(uint64_t));
}

bool text_probed(struct parser *p)
{
	static const struct {
		const char *word;
		void (*add)(struct parser *p);
	} events[] = {
		{ "task", text_task },         { "task-end", text_task_end }, { "wait", text_wait },
		{ "stalls", text_stalls },     { "request", text_request },   { "reclaim", text_reclaim },
		{ "pipe-end", text_pipe_end }, { "pressure", text_pressure }, { "on-cpu", text_on_cpu },
		{ "written", text_written },
	};

	if (gst_image_header(&p->file->image)->kind != GST_FILE_HOST)
		return false;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (strcmp(p->words[0], events[i].word) == 0) {
			events[i].add(p);
			return true;
		}
	}
	return false;
}
