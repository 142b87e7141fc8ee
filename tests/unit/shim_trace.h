/* SPDX-License-Identifier: BSD-2-Clause */
/* A trace file of the test's own, and a small reader of it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/clock.h"
#include "shim/file.h"
#include "shim/ring.h"
#include "shim/segment.h"
#include "shim/settings.h"
#include "shim/stock.h"
#include "tests/unit/tsan_apart.h"

static char directory[128];

static inline int set_up(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "%s/gpushim-unit-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(directory));
	settings.limit_bytes = 1ull << 30;
	snprintf(settings.out, sizeof(settings.out), "%s/out", directory);
	clock_choose();
	rings_forget();
	stock_forget();
	assert_int_equal(file_create(), 0);
	return 0;
}

static inline int tear_down(void **state)
{
	char command[256];

	(void)state;
	segments_forget();
	file_forget();
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

/* A descriptor of the file. */
static inline int trace_open(void)
{
	char command[256], path[256];
	FILE *ls;
	int fd;

	snprintf(command, sizeof(command), "ls %s/out/*.gst", directory);
	ls = popen(command, "r");
	assert_non_null(ls);
	assert_non_null(fgets(path, sizeof(path), ls));
	pclose(ls);
	path[strcspn(path, "\n")] = 0;
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	return fd;
}

static inline uint8_t *slurp(size_t *size)
{
	struct stat st;
	uint8_t *bytes;
	int fd = trace_open();

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	bytes = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	*size = (size_t)st.st_size;
	return bytes;
}

static inline const struct gst_segment_header *segment_at(const uint8_t *bytes, uint32_t index)
{
	const uint32_t *entries = (const uint32_t *)(bytes + GST_DIRECTORY_OFFSET);

	if (index >= GST_SEGMENT_CAPACITY || !entries[index])
		return NULL;
	return (const struct gst_segment_header *)(bytes + GST_SEGMENTS_OFFSET + (size_t)index * GST_SEGMENT_BYTES);
}

static inline bool is_there(const uint8_t *bytes, uint32_t index, uint32_t recycles)
{
	const struct gst_segment_header *s = segment_at(bytes, index);

	return s && s->recycles == recycles;
}

/* Calls f for every committed record of the file, in segment order, but for copies of those that are there themselves. Returns how many
 * segments there are. */
static inline unsigned each_record(const uint8_t *bytes, size_t size,
			    void (*f)(const struct gst_record *r, uint32_t segment, void *), void *arg)
{
	const uint32_t *entries = (const uint32_t *)(bytes + GST_DIRECTORY_OFFSET);
	unsigned n = 0;
	bool copied;

	for (uint32_t i = 0; i < GST_SEGMENT_CAPACITY; i++) {
		const uint8_t *s = bytes + GST_SEGMENTS_OFFSET + (size_t)i * GST_SEGMENT_BYTES;

		if (!entries[i])
			continue;
		n++;
		copied = false;
		assert_int_equal(segment_at(bytes, i)->index, i);
		assert_int_equal(entries[i], gst_directory_check(i));
		assert_true((size_t)(s - bytes) + GST_SEGMENT_BYTES <= size);
		for (uint32_t at = sizeof(struct gst_segment_header); at + 8 <= GST_SEGMENT_BYTES;) {
			const struct gst_record *r = (const struct gst_record *)(s + at);

			if (!r->type && !r->size) {
				at += sizeof(*r);
				continue;
			}
			assert_int_equal(r->check, gst_record_check(r->type, r->size, at));
			if (r->commit)
				assert_int_equal(r->commit, GST_COMMIT);
			if (r->type == GST_KEPT)
				copied = is_there(bytes, ((const struct gst_kept *)r)->segment,
						  ((const struct gst_kept *)r)->recycles);
			else if (r->commit && !copied)
				f(r, i, arg);
			at += r->size;
		}
	}
	return n;
}
