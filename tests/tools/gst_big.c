/* SPDX-License-Identifier: BSD-2-Clause */
/* gst_big FILE [steps] [launches] [gaps] [tsc] [loss=N] [blocks=N] [beside=N]: a long training run's recording, made as fast as the disk takes it: for measuring the analyzer.
 *
 * `steps` steps (1000) of `launches` kernels each (400): a batch copied to the device in a stream of its own, which the first kernel waits
 * for; forward by the main thread, backward by another one; blocks of a caching allocator; in the end a copy of the loss to the host,
 * behind an edge. The step and its phases are NVTX ranges. Every step waits a while for its batch, every 64th for long; and every
 * 97th saves a checkpoint. `gaps` times in a step (8) a thread waits for the device and then computes. tsc: times are a counter's of 2.1 GHz, as on
 * most machines, with an anchor every 64 steps; else nanoseconds.
 * loss: it is read every so many steps only (1); blocks: one is taken or given back every so many launches (8), 0 none.
 * beside: each so many steps (0 never) the backward pass goes on in the other stream while the forward pass does.
 * The same arguments give the same bytes. Times are what a device would do that does one thing at a time in each stream. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/format.h"

#define MAIN_TID 100u
#define BACKWARD_TID 101u
#define HELPER_TID 102u
#define COMPUTE 1u /* streams */
#define LOADING 2u
#define RESERVED (8ull << 30)
#define NO_DEVICE 0xffff

enum hook { LAUNCH, COPY_IN, COPY_OUT, RECORD, WAIT, SYNC, MEMSET, HOOKS };
enum text { STEP = 1, DATA, FORWARD, BACKWARD, OPTIMIZER, CHECKPOINT, TEXTS };

static const char *const hook_names[HOOKS] = { "cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoH_v2",
					       "cuEventRecord",  "cuStreamWaitEvent",    "cuStreamSynchronize",
					       "cuMemsetD8Async" };
static const char *const texts[TEXTS] = {
	"", "ProfilerStep#", "data", "forward", "backward", "optimizer", "checkpoint"
};

struct thread { /* and the segment it writes */
	uint32_t tid, segments, segment, previous, at;
	const char *name;
	uint8_t *bytes; /* NULL none yet */
};

struct big {
	int fd;
	bool failed, counter;
	uint32_t n_segments, kernels, range, edges, seq[3], random;
	uint64_t records, now, idle_from[3]; /* by stream: when it has nothing more to do */
	uint64_t base_fired;
	uint64_t allocated;
	struct thread main, backward, helper;
	unsigned launches, gaps, loss, blocks, beside;
};

static uint32_t below(struct big *b, uint32_t n)
{
	b->random = b->random * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(b->random >> 8) * n >> 24);
}

static uint64_t ticks(const struct big *b, uint64_t ns)
{
	return b->counter ? ns / 10 * 21 + ns % 10 * 21 / 10 : ns;
}

/* ---- the file ---- */

static void put(struct big *b, const void *bytes, size_t n, uint64_t at)
{
	b->failed |= pwrite(b->fd, bytes, n, (off_t)at) != (ssize_t)n;
}

static void segment_end(struct big *b, struct thread *t)
{
	uint32_t entry = gst_directory_check(t->segment);

	if (!t->bytes)
		return;
	put(b, t->bytes, GST_SEGMENT_BYTES, GST_SEGMENTS_OFFSET + (uint64_t)GST_SEGMENT_BYTES * t->segment);
	put(b, &entry, sizeof(entry), GST_DIRECTORY_OFFSET + 4ull * t->segment);
}

static bool segment_begin(struct big *b, struct thread *t)
{
	struct gst_segment_header h = { .magic = GST_SEGMENT_MAGIC,
					.index = b->n_segments,
					.tid = t->tid,
					.begin_ticks = ticks(b, b->now),
					.thread_seq = t->segments++,
					.previous = t->bytes ? t->segment : GST_NONE };

	if (!t->bytes)
		t->bytes = malloc(GST_SEGMENT_BYTES);
	if (!t->bytes || b->n_segments == GST_SEGMENT_CAPACITY)
		return false;
	memset(t->bytes, 0, GST_SEGMENT_BYTES);
	snprintf(h.thread_name, sizeof(h.thread_name), "%s", t->name);
	h.check = gst_hash32(&h, sizeof(h), offsetof(struct gst_segment_header, check));
	memcpy(t->bytes, &h, sizeof(h));
	t->segment = b->n_segments++;
	t->at = sizeof(h);
	return true;
}

static void add(struct big *b, struct thread *t, uint16_t type, void *record, size_t size)
{
	uint16_t padded = (uint16_t)((size + 7) / 8 * 8);
	struct gst_record h = { .type = type, .size = padded, .commit = GST_COMMIT };

	if (b->failed)
		return;
	if (!t->bytes || t->at + padded > GST_SEGMENT_BYTES) {
		segment_end(b, t);
		if (!segment_begin(b, t)) {
			b->failed = true;
			return;
		}
	}
	h.check = gst_record_check(type, padded, t->at);
	memcpy(record, &h, sizeof(h));
	memcpy(t->bytes + t->at, record, size);
	t->at += padded;
	b->records++;
}

static void add_name(struct big *b, uint16_t space, uint32_t id, const char *text)
{
	uint64_t room[64] = { 0 };
	struct gst_name *name = (void *)room;

	name->id = id;
	name->space = space;
	name->length = (uint16_t)strlen(text);
	memcpy(name->text, text, name->length);
	add(b, &b->main, GST_NAME, name, sizeof(*name) + name->length);
}

static void write_head(struct big *b, uint64_t begin)
{
	static struct gst_file_header h = { .version = GST_VERSION,
					    .segment_bytes = GST_SEGMENT_BYTES,
					    .segment_capacity = GST_SEGMENT_CAPACITY,
					    .device_level = GST_LEVEL_EDGES,
					    .pid = MAIN_TID,
					    .host = "host",
					    .exe = "/usr/bin/python3",
					    .cmdline = "python3 train.py",
					    .machine = GST_MACHINE_X86_64 };
	static struct gst_counters counters;

	memcpy(h.magic, GST_MAGIC, sizeof(h.magic));
	h.clock = b->counter ? GST_CLOCK_TSC : GST_CLOCK_MONOTONIC;
	h.start_ticks = ticks(b, begin);
	h.start_mono_ns = begin;
	h.start_real_ns = 1700000000000000000ull;
	h.check = gst_hash32(&h, sizeof(h), offsetof(struct gst_file_header, check));
	counters.last_ticks = ticks(b, b->now);
	counters.exited = 1;
	put(b, &h, sizeof(h), 0);
	put(b, &counters, sizeof(counters), GST_COUNTERS_OFFSET);
}

/* ---- what a program does ---- */

static void add_call(struct big *b, struct thread *t, uint64_t ns, struct gst_call r)
{
	r.begin = ticks(b, b->now);
	r.end = ticks(b, b->now += ns);
	r.device = 0;
	add(b, t, GST_CALL, &r, sizeof(r));
}

/* The device takes work_ns for it once it has done what stands before. */
static void submit(struct big *b, struct thread *t, uint32_t stream, uint64_t work_ns, struct gst_call r)
{
	uint64_t ready = b->now + 3000;

	r.stream = stream;
	r.seq = ++b->seq[stream];
	r.flags = GST_SUBMISSION;
	b->idle_from[stream] = (b->idle_from[stream] > ready ? b->idle_from[stream] : ready) + work_ns;
	add_call(b, t, 2000, r);
}

static void launch(struct big *b, struct thread *t, uint32_t stream, uint32_t kernel, uint32_t step)
{
	submit(b, t, stream, 2500 + kernel % 16 * 500 + step % 7 * 100,
	       (struct gst_call){
		       .hook = LAUNCH, .family = GST_FAMILY_LAUNCH, .name = kernel, .args = { 64, 1 | 128ull << 32 } });
	b->now += 1000 + below(b, 500);
}

static void block(struct big *b, struct thread *t, unsigned place, bool taken)
{
	uint64_t bytes = (1 + place % 8) << 20;
	struct gst_block r = { .ticks = ticks(b, b->now),
			       .address = 0x7f0000000000ull + (uint64_t)place * (8 << 20),
			       .bytes = bytes,
			       .reserved = RESERVED,
			       .kind = taken ? GST_BLOCK_TAKEN : GST_BLOCK_GIVEN,
			       .device_type = 1 };

	b->allocated += taken ? bytes : -bytes;
	r.allocated = b->allocated;
	add(b, t, GST_BLOCK, &r, sizeof(r));
}

static void range(struct big *b, uint64_t begin, enum text text, uint32_t number, uint16_t level)
{
	struct gst_range r = { .begin = ticks(b, begin),
			       .end = ticks(b, b->now),
			       .range = ++b->range,
			       .tid = MAIN_TID,
			       .name = text,
			       .number = number,
			       .level = level,
			       .kind = GST_RANGE_PUSHED,
			       .flags = text == STEP ? GST_RANGE_NUMBERED : 0 };

	add(b, &b->main, GST_RANGE, &r, sizeof(r));
}

/* Fires when the stream has done all it has been given. */
static void edge(struct big *b, uint32_t stream)
{
	uint64_t fired = (b->idle_from[stream] > b->now ? b->idle_from[stream] : b->now) / 500 * 500;
	struct gst_edge r = { .edge = ++b->edges,
			      .stream = stream,
			      .covers = b->seq[stream],
			      .begin = ticks(b, b->now),
			      .end = ticks(b, b->now + 1000),
			      .done = ticks(b, fired + 4000),
			      .kind = GST_EDGE_BLOCK,
			      .tid = MAIN_TID };

	if (b->edges % 64 == 1)
		b->base_fired = fired;
	r.base = b->edges - (b->edges - 1) % 64;
	r.elapsed_ms = (float)((double)(fired - b->base_fired) / 1e6);
	b->now += 1000;
	add(b, &b->helper, GST_EDGE, &r, sizeof(r));
}

static void load_batch(struct big *b, uint32_t step)
{
	b->now += 100000 + (step % 64 == 63 ? 5000000 : below(b, 50000));
	submit(b, &b->main, LOADING, 60000,
	       (struct gst_call){ .hook = COPY_IN,
				  .family = GST_FAMILY_COPY,
				  .detail = GST_COPY_H2D_PINNED,
				  .args = { 1 << 20, 0x7e0000000000ull } });
	add_call(b, &b->main, 800,
		 (struct gst_call){ .hook = RECORD,
				    .family = GST_FAMILY_EVENT_RECORD,
				    .stream = LOADING,
				    .seq = b->seq[LOADING],
				    .args = { 0x1000 } });
	add_call(b, &b->main, 800,
		 (struct gst_call){ .hook = WAIT,
				    .family = GST_FAMILY_STREAM_WAIT,
				    .stream = COMPUTE,
				    .seq = b->seq[COMPUTE],
				    .args = { 0x1000 } });
	if (b->idle_from[COMPUTE] < b->idle_from[LOADING])
		b->idle_from[COMPUTE] = b->idle_from[LOADING];
}

/* A wait for the device, and then a while of the host's own. */
static void pause_device(struct big *b, struct thread *t)
{
	uint64_t end;

	edge(b, COMPUTE);
	end = b->idle_from[COMPUTE] > b->now ? b->idle_from[COMPUTE] : b->now;
	add_call(b, t, end + 5000 - b->now,
		 (struct gst_call){
			 .hook = SYNC, .family = GST_FAMILY_SYNC_STREAM, .stream = COMPUTE, .seq = b->seq[COMPUTE] });
	b->now += 20000 + below(b, 10000);
}

static void pass(struct big *b, struct thread *t, uint32_t first, uint32_t n, uint32_t step)
{
	for (uint32_t i = first; i < first + n; i++) {
		if (b->gaps && i % (b->launches / b->gaps + 1) == b->launches / b->gaps / 2)
			pause_device(b, t);
		if (b->blocks && i % b->blocks == 0)
			block(b, t, i / b->blocks % 512, i / b->blocks < b->launches / b->blocks / 2);
		launch(b, t, COMPUTE, 1 + i % b->kernels, step);
	}
}

/* Two threads take turns: their rows lie in the same time. */
static void pass_both(struct big *b, uint32_t n, uint32_t step)
{
	for (uint32_t i = 0; i < n; i++) {
		launch(b, &b->main, COMPUTE, 1 + i % b->kernels, step);
		if (i % 5 != 4) /* now and then two of one thread in a row */
			launch(b, &b->backward, LOADING, 1 + (n + i) % b->kernels, step);
	}
	for (uint32_t i = 4; i < n; i += 5)
		launch(b, &b->backward, LOADING, 1 + (n + i) % b->kernels, step);
}

static void read_loss(struct big *b)
{
	struct gst_call r = { .hook = COPY_OUT,
			      .family = GST_FAMILY_COPY,
			      .flags = GST_SUBMISSION | GST_BLOCKING,
			      .stream = COMPUTE,
			      .detail = GST_COPY_D2H_PAGEABLE,
			      .args = { 4, 0x7e0000000000ull } };

	edge(b, COMPUTE);
	b->idle_from[COMPUTE] = (b->idle_from[COMPUTE] > b->now ? b->idle_from[COMPUTE] : b->now) + 3000;
	r.seq = ++b->seq[COMPUTE];
	add_call(b, &b->main, b->idle_from[COMPUTE] + 5000 - b->now, r);
}

static void anchor(struct big *b)
{
	struct gst_anchor r = { .ticks = ticks(b, b->now), .mono_ns = b->now, .width_ticks = 100 };

	add(b, &b->helper, GST_ANCHOR, &r, sizeof(r));
}

static void step(struct big *b, uint32_t number)
{
	uint32_t third = b->launches / 3;
	uint64_t begin = b->now, part = b->now;

	if (b->counter && number % 64 == 0)
		anchor(b);

	load_batch(b, number);
	range(b, part, DATA, 0, 1);
	part = b->now;
	if (b->beside && number % b->beside == 0) {
		pass_both(b, third, number);
		range(b, part, FORWARD, 0, 1);
	} else {
		pass(b, &b->main, 0, third, number);
		range(b, part, FORWARD, 0, 1);
		part = b->now;
		pass(b, &b->backward, third, third, number);
		range(b, part, BACKWARD, 0, 1);
	}
	part = b->now;
	submit(b, &b->main, COMPUTE, 2000,
	       (struct gst_call){ .hook = MEMSET, .family = GST_FAMILY_MEMSET, .args = { 4096, 0x7e0000000000ull } });
	pass(b, &b->main, 2 * third, b->launches - 2 * third, number);
	range(b, part, OPTIMIZER, 0, 1);
	if (number % b->loss == b->loss - 1)
		read_loss(b);
	if (number % 97 == 96) {
		part = b->now;
		b->now += 2000000;
		range(b, part, CHECKPOINT, 0, 1);
	}
	range(b, begin, STEP, number, 0);
}

static void define(struct big *b)
{
	struct gst_device device = { .uuid = { 1 }, .memory_bytes = 80ull << 30, .name = "Made up" };
	struct gst_stream streams[] = { { .id = COMPUTE, .handle = 0x10, .context = 1 },
					{ .id = LOADING, .handle = 0x20, .context = 1, .flags = 1 } };
	struct gst_call reserve = {
		.hook = HOOKS, .family = GST_FAMILY_ALLOC, .stream = GST_NONE, .args = { 0x7f0000000000ull, RESERVED }
	};
	char name[64];

	for (uint32_t i = 0; i < HOOKS; i++)
		add_name(b, GST_SPACE_HOOK, i, hook_names[i]);
	add_name(b, GST_SPACE_HOOK, HOOKS, "cuMemAlloc_v2");
	for (uint32_t i = STEP; i < TEXTS; i++)
		add_name(b, GST_SPACE_NVTX, i, texts[i]);
	for (uint32_t i = 1; i <= b->kernels; i++) {
		snprintf(name, sizeof(name), "_Z%dkernel_%03uPfS_i", 10, i);
		add_name(b, GST_SPACE_KERNEL, i, name);
	}
	add(b, &b->main, GST_DEVICE, &device, sizeof(device));
	for (size_t i = 0; i < 2; i++)
		add(b, &b->main, GST_STREAM, &streams[i], sizeof(streams[i]));
	add_call(b, &b->main, 100000, reserve);
}

static unsigned number(int argc, char **argv, int i, unsigned otherwise)
{
	return argc > i ? (unsigned)strtoul(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	struct big b = { .now = 1000000000,
			 .random = 1,
			 .kernels = 300,
			 .main = { .tid = MAIN_TID, .name = "python3" },
			 .backward = { .tid = BACKWARD_TID, .name = "pt_autograd_0" },
			 .helper = { .tid = HELPER_TID, .name = "gpushim" } };
	unsigned steps = number(argc, argv, 2, 1000);

	b.launches = number(argc, argv, 3, 400);
	b.gaps = number(argc, argv, 4, 8);
	b.loss = 1;
	b.blocks = 8;
	for (int i = 5; i < argc; i++) {
		b.counter |= strcmp(argv[i], "tsc") == 0;
		sscanf(argv[i], "loss=%u", &b.loss);
		sscanf(argv[i], "blocks=%u", &b.blocks);
		sscanf(argv[i], "beside=%u", &b.beside);
	}
	b.fd = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	if (b.fd < 0) {
		fprintf(stderr, "usage: gst_big FILE [steps] [launches] [gaps] [tsc] [loss=N] [blocks=N] [beside=N]\n");
		return 2;
	}
	define(&b);
	for (unsigned i = 0; i < steps && !b.failed; i++)
		step(&b, i);
	segment_end(&b, &b.main);
	segment_end(&b, &b.backward);
	segment_end(&b, &b.helper);
	write_head(&b, 1000000000 - 1000000);
	free(b.main.bytes);
	free(b.backward.bytes);
	free(b.helper.bytes);
	if (b.failed || close(b.fd)) {
		perror(argv[1]);
		return 4;
	}
	printf("%llu records\n", (unsigned long long)b.records);
	return 0;
}
