/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of host probes, read back with the analyzer's reader: whole, at its limit, and on a full disk. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "host_file_seen.h"

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
	};

	setenv("GPUSHIM_RUN", "run-7", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
