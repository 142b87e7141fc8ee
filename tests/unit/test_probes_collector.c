/* SPDX-License-Identifier: BSD-2-Clause */
/* Who chooses the way to watch, with ways of the test's own. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "probes/collector.h"
#include "probes/root.h"
#include "reader_sound.h"

static char dir[64];

/* ---- ways to watch ---------------------------------------------------------------------------------------------------- */

static struct {
	bool starts, fails;        /* the second one; its poll at the end */
	unsigned polls, lives_for; /* so many polls */
	struct host_file *file;
	unsigned started, stopped;
	pid_t child;
	const struct collector *until_renamed; /* it ends when that has seen what its root becomes */
} way;

/* Begins to write before it finds out that it cannot. */
static bool start_in_vain(void **state, const struct probes_settings *s, struct host_file *f, char why[256])
{
	struct gst_probes p = { .how = GST_PROBES_EBPF, .root = (uint32_t)s->root };

	*state = NULL;
	host_file_append(f, GST_PROBES, sizeof(p), &p);
	snprintf(why, 256, "no capability; try: more");
	return false;
}

static bool start(void **state, const struct probes_settings *s, struct host_file *f, char why[256])
{
	struct gst_probes p = { .how = GST_PROBES_PROC, .root = (uint32_t)s->root };

	*state = &way;
	way.started++;
	way.file = f;
	host_file_append(f, GST_PROBES, sizeof(p), &p);
	snprintf(why, 256, "%s", way.starts ? "" : "broken");
	return way.starts;
}

static bool poll_once(void *state, int timeout_ms)
{
	const struct timespec moment = { 0, 1000000 };
	struct gst_wait w = { .out = ++way.polls };

	if (way.until_renamed)
		nanosleep(&moment, NULL);

	assert_ptr_equal(state, &way);
	assert_in_range(timeout_ms, 1, 50);
	host_file_append(way.file, GST_WAIT, sizeof(w), &w);
	return !(way.fails && way.polls == way.lives_for);
}

static bool alive(void *state)
{
	assert_ptr_equal(state, &way);
	return way.polls < way.lives_for && !(way.until_renamed && !way.until_renamed->becoming);
}

static void finish(void *state)
{
	struct gst_probes p = { .end = 9 };

	assert_ptr_equal(state, &way);
	way.stopped++;
	host_file_append(way.file, GST_PROBES, sizeof(p), &p);
	host_file_count_dropped(way.file, 3);
}

const struct backend *const backend_ebpf = NULL;
const struct backend backend_perf = { "perf", GST_PROBES_PERF, start_in_vain, poll_once, alive, finish };
const struct backend backend_proc = { "proc", GST_PROBES_PROC, start, poll_once, alive, finish };

/* ---- the tests -------------------------------------------------------------------------------------------------------- */

static unsigned files(void)
{
	char command[128], text[16] = "";
	FILE *f;

	snprintf(command, sizeof(command), "ls -A %s | wc -l", dir);
	f = popen(command, "r");
	assert_non_null(fgets(text, sizeof(text), f));
	pclose(f);
	return (unsigned)atoi(text);
}

static void the_best_that_starts_is_taken(void **state)
{
	struct probes_settings s = { .root = getpid(), .dir = dir, .limit = 1 << 30 };
	const volatile sig_atomic_t stop = 0;
	struct collector_sums sums;
	struct reader_counts counts;
	struct record_view view;
	struct reader *reader;
	struct collector c;
	struct error e;
	char why[256], path[256];

	(void)state;
	way.starts = true;
	way.lives_for = 5;
	assert_true(collector_start(&c, &s, "auto", why));
	assert_string_equal(c.backend->name, "proc");
	assert_int_equal(c.n_refused, 2);
	assert_string_equal(c.refused[0].name, "ebpf");
	assert_string_equal(c.refused[0].why, "not in this build");
	assert_string_equal(c.refused[1].name, "perf");
	assert_string_equal(c.refused[1].why, "no capability; try: more");
	assert_int_equal(files(), 1);
	snprintf(path, sizeof(path), "%s", host_file_path(c.file));
	assert_null(strstr(path, "-2.host.gst"));
	assert_true(collector_follow(&c, &stop));
	assert_int_equal(way.polls, 5);
	collector_finish(&c, &sums);
	assert_int_equal(way.stopped, 1);
	assert_int_equal(sums.dropped, 3);
	assert_true(sums.own_cpu_ns > 0);

	assert_int_equal(reader_open(&reader, path, &e), ERR_NONE);
	assert_true(reader_next(reader, &view)); /* nothing of the way that did not start */
	assert_int_equal(view.record->type, GST_PROBES);
	assert_int_equal(((const struct gst_probes *)view.record)->how, GST_PROBES_PROC);
	while (reader_next(reader, &view))
		;
	counts = reader_counts(reader);
	assert_int_equal(counts.records, 7);
	assert_sound(reader);
	assert_int_equal(reader_counters(reader)->exited, 1);
	reader_free(reader);
}

static void the_one_that_is_asked_for_or_none(void **state)
{
	struct probes_settings s = { .root = getpid(), .dir = dir, .limit = 1 << 30 };
	struct collector c;
	char why[256], sub[128];

	(void)state;
	way.starts = true;
	assert_false(collector_start(&c, &s, "perf", why));
	assert_string_equal(why, "no capability; try: more");
	assert_false(collector_start(&c, &s, "ebpf", why));
	assert_string_equal(why, "not in this build");
	assert_int_equal(way.started, 0);
	assert_int_equal(files(), 0);
	way.starts = false;
	assert_false(collector_start(&c, &s, "auto", why));
	assert_string_equal(why, "broken");
	assert_int_equal(c.n_refused, 3);
	assert_int_equal(files(), 0);
	way.starts = true;
	snprintf(sub, sizeof(sub), "%s/file", dir);
	fclose(fopen(sub, "w"));
	s.dir = sub; /* not a directory: one reason, whatever the way */
	assert_false(collector_start(&c, &s, "auto", why));
	assert_int_equal(c.n_refused, 0);
	assert_non_null(strstr(why, "cannot record into "));
	assert_non_null(strstr(why, "Not a directory"));
}

static void it_ends_when_told_or_when_it_cannot_go_on(void **state)
{
	struct probes_settings s = { .root = getpid(), .dir = dir, .limit = 1 << 30 };
	const volatile sig_atomic_t go = 0, stop = 1;
	struct collector c;
	char why[256];

	(void)state;
	way.starts = true;
	way.lives_for = 3;
	assert_true(collector_start(&c, &s, "proc", why));
	assert_true(collector_follow(&c, &stop));
	assert_int_equal(way.polls, 0);
	way.fails = true;
	assert_false(collector_follow(&c, &go));
	assert_int_equal(way.polls, 3);
	collector_finish(&c, NULL);
	assert_int_equal(way.stopped, 1);
}

/* What is found under its number may be another process: nobody is followed. */
static void one_that_was_gone_by_then_is_not_followed(void **state)
{
	struct probes_settings s = { .root = getpid(), .dir = dir, .limit = 1 << 30 };
	pid_t child = fork();
	struct collector c;
	char why[256], expected[64];

	(void)state;
	if (!child)
		_exit(0);
	way.starts = true;
	s.root_fd = root_open(child);
	if (!s.root_fd) {
		waitpid(child, NULL, 0);
		skip(); /* no pidfd on this kernel, or emulator */
	}
	assert_true(collector_start(&c, &s, "proc", why)); /* dead or not, its number is its own */
	collector_finish(&c, NULL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(collector_start(&c, &s, "proc", why));
	snprintf(expected, sizeof(expected), "process %d has ended", (int)getpid());
	assert_string_equal(why, expected);
	assert_int_equal(way.stopped, 2);
	assert_int_equal(files(), 1); /* the first one's */
	close(s.root_fd);
}

/* A child that has begun to execute that: the pipe is closed by it. */
static void become(char *const argv[])
{
	int ends[2];
	char c;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	way.child = fork();
	if (!way.child) {
		execvp(argv[0], argv);
		_exit(127);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &c, 1), 0);
	close(ends[0]);
}

static struct gst_file_header header_of(const char *path)
{
	struct gst_file_header h;
	struct reader *r;
	struct error e;

	assert_int_equal(reader_open(&r, path, &e), ERR_NONE); /* the check holds */
	h = *reader_header(r);
	reader_free(r);
	return h;
}

/* First what was asked for, then what the kernel made of it. */
static void the_header_names_what_the_root_becomes(void **state)
{
	char *argv[] = { "sleep", "60", NULL };
	struct probes_settings s = { .dir = dir, .limit = 1 << 30, .exe = "/bin/script", .cmdline = "script 60" };
	const volatile sig_atomic_t go = 0;
	struct gst_file_header h;
	struct collector c;
	char why[256], path[256];

	(void)state;
	way.starts = true;
	s.root = getpid(); /* runs what we run: it has not become anything yet */
	assert_true(collector_start(&c, &s, "proc", why));
	snprintf(path, sizeof(path), "%s", host_file_path(c.file));
	way.lives_for = 3;
	assert_true(collector_follow(&c, &go));
	h = header_of(path);
	assert_string_equal(h.exe, "/bin/script");
	assert_string_equal(h.cmdline, "script 60");
	become(argv);
	c.becoming = way.child;
	way.until_renamed = &c;
	way.lives_for = 10000;
	assert_true(collector_follow(&c, &go));
	assert_int_equal(c.becoming, 0);
	h = header_of(path);
	assert_non_null(strstr(h.cmdline, "sleep 60"));
	assert_non_null(strrchr(h.exe, '/'));
	assert_string_not_equal(h.exe, "/bin/script");
	kill(way.child, SIGKILL);
	waitpid(way.child, NULL, 0);
	c.becoming = way.child; /* gone: it keeps what it has */
	way.until_renamed = NULL;
	way.lives_for = way.polls + 1;
	assert_true(collector_follow(&c, &go));
	assert_int_equal(c.becoming, 0);
	assert_non_null(strstr(header_of(path).cmdline, "sleep 60"));
	collector_finish(&c, NULL);
}

static int set_up(void **state)
{
	(void)state;
	memset(&way, 0, sizeof(way));
	snprintf(dir, sizeof(dir), "/tmp/collector-XXXXXX");
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
		cmocka_unit_test_setup_teardown(the_best_that_starts_is_taken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_one_that_is_asked_for_or_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_that_was_gone_by_then_is_not_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_header_names_what_the_root_becomes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(it_ends_when_told_or_when_it_cannot_go_on, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
