/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of host probes, read back with the analyzer's reader: whole, at its limit, on a full disk, and killed at any moment. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "layout.h"
#include "probes/host_file.h"
#include "reader.h"

#define LIMIT (GST_SEGMENTS_OFFSET + 8 * GST_SEGMENT_BYTES)
#define ROOT getpid()

static char dir[64];
static int room = -1; /* allocations that succeed from now on; -1 all */

int __real_posix_fallocate(int fd, off_t offset, off_t bytes);
int __wrap_posix_fallocate(int fd, off_t offset, off_t bytes);

int __wrap_posix_fallocate(int fd, off_t offset, off_t bytes)
{
	if (room == 0)
		return ENOSPC;
	room -= room > 0;
	return __real_posix_fallocate(fd, offset, bytes);
}

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

static void see(const struct gst_record *r)
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

static void see_name(const struct gst_record *r, void *arg)
{
	uint32_t file = r->type == GST_WAIT ? ((const struct gst_wait *)r)->what.file : 0;

	(void)arg;
	seen.nameless += file && !seen.names[file];
}

struct image {
	uint8_t *bytes;
	size_t size;
};

static struct image load(const char *path)
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

static const struct gst_segment_header *segment_at(const struct image *m, uint32_t i)
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
static void see_one(const struct gst_record *r, void *kept)
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

static void read_back(const char *path)
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
	assert_null(reader_damage(reader));
	seen.header = *reader_header(reader);
	seen.counters = *reader_counters(reader);
	reader_free(reader);
	free(m.bytes);
}

/* ---- writing --------------------------------------------------------------------------------------------------------- */

static void task(struct host_file *f, uint32_t tid)
{
	struct gst_task t = { .tid = tid, .pid = tid, .name = "worker" };

	host_file_append(f, GST_TASK, sizeof(t), &t);
}

static void task_end(struct host_file *f, uint32_t tid)
{
	struct gst_task_end t = { .tid = tid };

	host_file_append(f, GST_TASK_END, sizeof(t), &t);
}

static void wait_of(struct host_file *f, uint32_t tid, uint64_t out, const char *file)
{
	struct gst_wait w = { .out = out, .wake = out + 1, .in = out + 2, .tid = tid };

	w.what.file = file ? host_file_name(f, file) : 0;
	host_file_append(f, GST_WAIT, sizeof(w), &w);
}

static void probes(struct host_file *f, uint64_t end)
{
	struct gst_probes p = { .begin = 1, .end = end, .how = GST_PROBES_PROC };

	host_file_append(f, GST_PROBES, sizeof(p), &p);
}

static void pipe_end(struct host_file *f, uint32_t pid)
{
	struct gst_pipe_end p = { .inode = 7, .pid = pid };

	host_file_append(f, GST_PIPE_END, sizeof(p), &p);
}

/* ---- the tests ------------------------------------------------------------------------------------------------------- */

static void what_was_written_is_read_back(void **state)
{
	struct stat space;
	struct host_file *f;
	char path[256], text[16], host[64] = "";
	uint32_t ids[3];
	struct stat st;

	(void)state;
	assert_int_equal(host_file_create(&f, dir, ROOT, 1ull << 30), 0);
	snprintf(path, sizeof(path), "%s", host_file_path(f));
	probes(f, 0);
	task(f, 7);
	ids[0] = host_file_name(f, "/data/a");
	ids[1] = host_file_name(f, "pipe:[12]");
	ids[2] = host_file_name(f, "/data/a");
	assert_int_equal(host_file_name(f, ""), 0);
	for (uint64_t i = 0; i < 10000; i++)
		wait_of(f, 7, i, "/data/a");
	task_end(f, 7);
	host_file_count_dropped(f, 5);
	host_file_finish(f);

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	gethostname(host, sizeof(host) - 1);
	snprintf(text, sizeof(text), "-%d", (int)ROOT);
	assert_non_null(strstr(path, host));
	assert_string_equal(strstr(path, text) + strlen(text), ".host.gst");
	assert_int_equal(ids[0], ids[2]);
	assert_int_not_equal(ids[0], ids[1]);
	read_back(path);
	assert_int_equal(seen.header.version, 1);
	assert_int_equal(seen.header.kind, GST_FILE_HOST);
	assert_int_equal(seen.header.clock, GST_CLOCK_MONOTONIC);
	assert_int_equal(seen.header.pid, ROOT);
	assert_int_equal(seen.header.ppid, getppid());
	assert_string_equal(seen.header.run_id, "run-7");
	assert_non_null(strstr(seen.header.exe, "test_probes_host_file"));
	assert_non_null(strstr(seen.header.cmdline, "test_probes_host_file"));
	assert_int_equal(stat("/proc/self/ns/pid", &space), 0);
	assert_int_equal(seen.header.pid_ns, space.st_ino);
	assert_true(seen.header.process_start_mono_ns &&
		    seen.header.process_start_mono_ns <= seen.header.start_mono_ns);
	assert_int_equal(seen.counters.exited, 1);
	assert_int_equal(seen.counters.records_dropped, 5);
	assert_true(seen.counters.last_ticks >= seen.header.start_ticks && seen.counters.own_cpu_ns > 0);
	assert_int_equal(seen.waits, 10000);
	assert_int_equal(seen.nameless, 0);
	assert_int_equal(seen.births[7], 1);
	assert_int_equal(seen.ends[7], 1);
	assert_int_equal(seen.probes, 1);
}

static void a_name_that_exists_is_left_alone(void **state)
{
	struct host_file *a, *b;
	char first[256], link[300], target[128], text[8] = "";
	int fd;

	(void)state;
	assert_int_equal(host_file_create(&a, dir, ROOT, 1 << 30), 0);
	snprintf(first, sizeof(first), "%.*s", (int)(strlen(host_file_path(a)) - strlen(".host.gst")),
		 host_file_path(a));
	snprintf(link, sizeof(link), "%s-2.host.gst", first);
	snprintf(target, sizeof(target), "%s/target", dir);
	fd = open(target, O_RDWR | O_CREAT, 0600);
	assert_int_equal(symlink(target, link), 0);
	assert_int_equal(host_file_create(&b, dir, ROOT, 1 << 30), 0);
	snprintf(link, sizeof(link), "%s-3.host.gst", first);
	assert_string_equal(host_file_path(b), link);
	probes(b, 0);
	assert_int_equal(read(fd, text, sizeof(text)), 0);
	close(fd);
	host_file_discard(b);
	assert_int_equal(access(link, F_OK), -1);
	host_file_finish(a);
	assert_int_equal(host_file_create(&a, target, ROOT, 1 << 30), ENOTDIR);
}

/* What a long run leaves: names that are used once, one that is used all the time, tasks that end and tasks that do not. */
static void write_much(struct host_file *f, uint64_t from, uint64_t n)
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

static void check_much(uint64_t last)
{
	unsigned kept = 0, still = 0;

	assert_int_equal(seen.header.version, 2);
	assert_true(seen.counters.recycled_until > 0);
	assert_true(seen.counters.segments_recycled > 0);
	assert_int_equal(seen.counters.definitions_lost, 0);
	assert_int_equal(seen.nameless, 0);
	assert_int_equal(seen.waits,
			 seen.last_out - seen.first_out + 1); /* what is missing is older than all that is there */
	assert_int_equal(seen.last_out, last);
	assert_int_equal(seen.probes, 1);
	assert_true(seen.births[5] && !seen.ends[5] && seen.pipes[5]);
	assert_false(seen.pipes[6]);
	for (uint32_t i = 0; i <= last / 100; i++) {
		kept += seen.births[100 + i];
		still += i % 10 == 0;
		if (i % 10 == 0)
			assert_int_equal(seen.births[100 + i], 1);
		if (seen.births[100 + i] && i % 10 && (i + 1) * 100ull < last) /* it ended, and that is known */
			assert_int_equal(seen.ends[100 + i], 1);
	}
	assert_true(kept < still + (last - seen.first_out) / 100 +
				   40); /* those that ended are gone with their waits, nearly */
	still = 0;
	for (uint32_t i = 0; i < TIDS; i++)
		still += seen.names[i];
	assert_true(still < (last - seen.first_out) / 50 + 60);
}

static void at_its_limit_the_oldest_is_given_up(void **state)
{
	struct host_file *f;
	char path[256];
	struct stat st;

	(void)state;
	assert_int_equal(host_file_create(&f, dir, ROOT, LIMIT), 0);
	snprintf(path, sizeof(path), "%s", host_file_path(f));
	probes(f, 0);
	task(f, 5);
	pipe_end(f, 5);
	task(f, 6);
	pipe_end(f, 6);
	task_end(f, 6);
	write_much(f, 0, 100000); /* 13 MB */
	host_file_finish(f);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size <= LIMIT);
	read_back(path);
	check_much(99999);
	assert_int_equal(seen.counters.records_dropped, 0);
}

static void a_full_disk_is_a_limit(void **state)
{
	struct host_file *f;
	char path[256];

	(void)state;
	room = 5; /* the head and four segments */
	assert_int_equal(host_file_create(&f, dir, ROOT, 1ull << 30), 0);
	snprintf(path, sizeof(path), "%s", host_file_path(f));
	probes(f, 0);
	task(f, 5);
	pipe_end(f, 5);
	write_much(f, 0, 50000);
	room = -1;
	write_much(f, 50000, 50000); /* … and has room again, which is used */
	host_file_finish(f);
	read_back(path);
	check_much(99999);
	assert_int_equal(seen.counters.drop_errno, ENOSPC);
	assert_int_equal(seen.counters.records_dropped, 0);
	assert_true(seen.counters.segments_recycled < 40);
}

static void where_there_is_no_room_at_all_it_is_counted(void **state)
{
	struct host_file *f;
	char path[256];

	(void)state;
	room = 0;
	assert_int_equal(host_file_create(&f, dir, ROOT, 1ull << 30), ENOSPC);
	room = 1;
	assert_int_equal(host_file_create(&f, dir, ROOT, 1ull << 30), 0);
	snprintf(path, sizeof(path), "%s", host_file_path(f));
	assert_null(host_file_reserve(f, GST_WAIT, sizeof(struct gst_wait)));
	assert_int_equal(host_file_name(f, "/data/a"), 0);
	room = -1;
	usleep(110000);
	assert_int_not_equal(host_file_name(f, "/data/a"), 0); /* tried again, and written */
	host_file_finish(f);
	read_back(path);
	assert_int_equal(seen.counters.records_dropped, 2);
	assert_int_equal(seen.counters.dropped_disk, 2);
	assert_int_equal(seen.counters.drop_errno, ENOSPC);
	assert_int_equal(seen.names[1] + seen.names[2], 1);
}

static void killed_at_any_moment_it_is_sound(void **state)
{
	char path[256];

	(void)state;
	for (unsigned i = 0; i < 25; i++) {
		int fds[2], status;
		pid_t child;

		assert_int_equal(pipe(fds), 0);
		child = fork();
		if (child == 0) {
			struct host_file *f;

			if (host_file_create(&f, dir, ROOT, LIMIT))
				_exit(1);
			probes(f, 0);
			task(f, 5);
			pipe_end(f, 5);
			write_much(f, 0, 1000);
			if (write(fds[1], host_file_path(f), strlen(host_file_path(f)) + 1) < 0)
				_exit(1);
			for (uint64_t n = 1000;; n += 1000)
				write_much(f, n, 1000);
		}
		assert_true(read(fds[0], path, sizeof(path)) > 0);
		usleep(3000 + i * 4000);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		close(fds[0]);
		close(fds[1]);
		read_back(path);
		assert_int_equal(seen.counters.exited, 0);
		assert_int_equal(seen.nameless, 0);
		assert_int_equal(seen.probes, 1);
		if (seen.counters.segments_recycled)
			assert_int_equal(seen.header.version, 2);
		assert_int_equal(seen.waits, seen.last_out - seen.first_out + 1);
		unlink(path);
	}
}

static int set_up(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/host-file-XXXXXX");
	room = -1;
	return mkdtemp(dir) ? 0 : 1;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_written_is_read_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_name_that_exists_is_left_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(at_its_limit_the_oldest_is_given_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_full_disk_is_a_limit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(where_there_is_no_room_at_all_it_is_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(killed_at_any_moment_it_is_sound, set_up, tear_down),
	};

	setenv("GPUSHIM_RUN", "run-7", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
