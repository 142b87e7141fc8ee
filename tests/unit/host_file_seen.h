/* SPDX-License-Identifier: BSD-2-Clause */
/* host_file_seen.h: for unit programs about the file of host probes, behind cmocka.h: what one writes to it, and what it is read back as with
 * the analyzer's reader. */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout.h"
#include "probes/host_file.h"
#include "reader_sound.h"

/* ---- reading back ---------------------------------------------------------------------------------------------------- */

#define TIDS 100000

static struct {
	struct gst_file_header header;
	struct gst_counters counters;
	unsigned births[TIDS], ends[TIDS], names[TIDS], pipes[TIDS]; /* by tid, or name id: how often */
	unsigned probes;
	uint64_t first_out, last_out; /* of the waits of ordinary segments */
	unsigned waits, nameless;     /* waits of a file that has no name */
} seen;

static inline void see(const struct gst_record *r)
{
	const struct gst_wait *w = (const struct gst_wait *)r;

	if (r->type == GST_TASK)
		seen.births[((const struct gst_task *)r)->tid]++;
	else if (r->type == GST_TASK_END)
		seen.ends[((const struct gst_task_end *)r)->tid]++;
	else if (r->type == GST_NAME)
		seen.names[((const struct gst_name *)r)->id]++;
	else if (r->type == GST_PIPE_END)
		seen.pipes[((const struct gst_pipe_end *)r)->pid]++;
	else if (r->type == GST_PROBES)
		seen.probes++;
	if (r->type != GST_WAIT)
		return;
	seen.first_out = !seen.waits || w->out < seen.first_out ? w->out : seen.first_out;
	seen.last_out = w->out > seen.last_out ? w->out : seen.last_out;
	seen.waits++;
}

static inline void see_name(const struct gst_record *r, void *arg)
{
	uint32_t file = r->type == GST_WAIT ? ((const struct gst_wait *)r)->what.file : 0;

	(void)arg;
	seen.nameless += file && !seen.names[file];
}

struct image {
	uint8_t *bytes;
	size_t size;
};

static inline struct image load(const char *path)
{
	struct image m;
	struct stat st;
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	m.size = (size_t)st.st_size;
	m.bytes = aligned_alloc(8, (m.size + 7) & ~7ull);
	assert_int_equal(read(fd, m.bytes, m.size), m.size);
	close(fd);
	return m;
}

static inline const struct gst_segment_header *segment_at(const struct image *m, uint32_t i)
{
	const uint32_t *directory = (const uint32_t *)(const void *)(m->bytes + GST_DIRECTORY_OFFSET);
	const uint8_t *at = m->bytes + GST_SEGMENTS_OFFSET + (uint64_t)i * GST_SEGMENT_BYTES;

	if (GST_SEGMENTS_OFFSET + (i + 1ull) * GST_SEGMENT_BYTES > m->size || directory[i] != gst_directory_check(i))
		return NULL;
	return (const struct gst_segment_header *)(const void *)at;
}

static const struct image *looking;
static bool counts;

/* Copies count where the segment they were copied from is gone. */
static inline void see_one(const struct gst_record *r, void *kept)
{
	const struct gst_kept *k = (const struct gst_kept *)r;
	const struct gst_segment_header *source;

	if (kept && r->type == GST_KEPT) {
		source = segment_at(looking, k->segment);
		counts = !source || source->recycles != k->recycles;
	} else if (!kept || counts) {
		see(r);
	}
}

static inline void read_back(const char *path)
{
	struct image m = load(path);
	struct record_view view;
	struct reader *reader;
	struct error e;

	memset(&seen, 0, sizeof(seen));
	looking = &m;
	for (uint32_t i = 0; segment_at(&m, i) || i < 16; i++) {
		const struct gst_segment_header *h = segment_at(&m, i);

		if (h)
			layout_each_record((const uint8_t *)h, see_one, h->flags & GST_SEGMENT_KEPT ? &seen : NULL);
	}
	for (uint32_t i = 0; segment_at(&m, i) || i < 16; i++)
		if (segment_at(&m, i))
			layout_each_record((const uint8_t *)segment_at(&m, i), see_name, NULL);
	assert_int_equal(reader_open(&reader, path, &e), ERR_NONE);
	while (reader_next(reader, &view))
		;
	assert_int_equal(reader_settle(reader, &e), ERR_NONE);
	assert_sound(reader);
	seen.header = *reader_header(reader);
	seen.counters = *reader_counters(reader);
	reader_free(reader);
	free(m.bytes);
}

/* ---- writing --------------------------------------------------------------------------------------------------------- */

static inline void task(struct host_file *f, uint32_t tid)
{
	struct gst_task t = { .tid = tid, .pid = tid, .name = "worker" };

	host_file_append(f, GST_TASK, sizeof(t), &t);
}

static inline void task_end(struct host_file *f, uint32_t tid)
{
	struct gst_task_end t = { .tid = tid };

	host_file_append(f, GST_TASK_END, sizeof(t), &t);
}

static inline void wait_of(struct host_file *f, uint32_t tid, uint64_t out, const char *file)
{
	struct gst_wait w = { .out = out, .wake = out + 1, .in = out + 2, .tid = tid };

	w.what.file = file ? host_file_name(f, file) : 0;
	host_file_append(f, GST_WAIT, sizeof(w), &w);
}

static inline void probes(struct host_file *f, uint64_t end)
{
	struct gst_probes p = { .begin = 1, .end = end, .how = GST_PROBES_PROC };

	host_file_append(f, GST_PROBES, sizeof(p), &p);
}

static inline void pipe_end(struct host_file *f, uint32_t pid)
{
	struct gst_pipe_end p = { .inode = 7, .pid = pid };

	host_file_append(f, GST_PIPE_END, sizeof(p), &p);
}

/* What a long run leaves: names that are used once, one that is used all the time, tasks that end and tasks that do not. */
static inline void write_much(struct host_file *f, uint64_t from, uint64_t n)
{
	char name[32];

	for (uint64_t i = from; i < from + n; i++) {
		uint32_t tid = 100 + (uint32_t)(i / 100 % 60000);

		if (i % 100 == 0)
			task(f, tid);
		snprintf(name, sizeof(name), "/data/%u", (unsigned)(i / 50));
		wait_of(f, tid, i, i % 2 ? name : "/always");
		if (i % 100 == 99 && i / 100 % 10)
			task_end(f, tid);
	}
}
