/* SPDX-License-Identifier: BSD-2-Clause */
/* Where /proc says less: on a kernel that does not sum up how long a task ran (CONFIG_SCHED_INFO) /proc/<tid>/schedstat is not there; a task's
 * files are gone when it has ended, and cannot be read where there are no descriptors left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "read/reader.h"
#include "sleeper.h"
#include "shim/probes/backend.h"
#include "shim/probes/proc_looks.h"
#include "shim/proc_text.h"

#define SLEEP_NS 100000000
#define RUN_NS 60000000u
#define WATCHED_NS 1500000000u
#define TRIES 5

static char dir[] = "/tmp/probes-proc-XXXXXX";
static const char *hidden; /* what such files' paths end with */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? (mode_t)va_arg(args, unsigned) : 0;
	va_end(args);
	if (hidden && strlen(path) > strlen(hidden) && !strcmp(path + strlen(path) - strlen(hidden), hidden)) {
		errno = ENOENT;
		return -1;
	}
	return __real_open(path, flags, mode);
}

/* Sleeps and runs in turn. */
static pid_t start_program(void)
{
	const struct timespec pause = { 0, SLEEP_NS };
	pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		uint64_t begin = thread_cpu_ns();

		while (thread_cpu_ns() - begin < RUN_NS)
			;
		nanosleep(&pause, NULL);
	}
}

struct seen {
	struct gst_probes probes;
	unsigned waits;     /* that are over */
	unsigned looked;    /* of them */
	uint64_t waited_ns; /* in these */
	uint64_t queued_ns;
	unsigned tasks, ends;
};

static struct seen read_file(const char *path)
{
	struct seen s = { .waits = 0 };
	struct record_view view;
	struct reader *reader;
	struct error e;

	assert_int_equal(reader_open(&reader, path, &e), ERR_NONE);
	while (reader_next(reader, &view)) {
		const struct gst_wait *w = (const void *)view.record;

		s.ends += view.record->type == GST_TASK_END;
		s.tasks += view.record->type == GST_TASK;
		if (view.record->type == GST_PROBES)
			s.probes = *(const struct gst_probes *)view.record;
		if (view.record->type != GST_WAIT || w->what.flags & GST_WAIT_LAST)
			continue;
		s.looked += (w->what.flags & GST_WAIT_LOOKED) != 0;
		s.waits++;
		s.waited_ns += w->in - w->out;
		s.queued_ns += w->wake ? w->in - w->wake : 0;
	}
	reader_free(reader);
	return s;
}

static struct seen watch_program(void)
{
	struct probes_settings settings = { .root = start_program(), .dir = dir, .limit = 1u << 30, .wait_ns = 20000 };
	struct host_file *file;
	char why[256], path[4096];
	struct seen seen;
	uint64_t begin;
	void *state;

	hidden = "/schedstat";
	assert_int_equal(host_file_create(&file, dir, settings.root, settings.limit), 0);
	assert_true(backend_proc.start(&state, &settings, file, why));
	for (begin = mono_ns(); mono_ns() - begin < WATCHED_NS;) {
		assert_true(backend_proc.poll(state, 20));
		assert_true(backend_proc.alive(state));
	}
	backend_proc.stop(state);
	hidden = NULL;
	kill(settings.root, SIGKILL);
	waitpid(settings.root, NULL, 0);
	snprintf(path, sizeof(path), "%s", host_file_path(file));
	host_file_end(file);
	seen = read_file(path);
	host_file_discard(file);
	return seen;
}

/* It slept for a tenth of a second at a time, and not for all of it. */
static bool times_are_right(const struct seen *s)
{
	return s->waits >= 2 && s->waits <= WATCHED_NS / (SLEEP_NS + RUN_NS) + 2 &&
	       s->waited_ns >= s->waits * (uint64_t)SLEEP_NS / 2 &&
	       s->waited_ns <= (s->probes.end - s->probes.begin) * 9 / 10;
}

static void test_without_the_kernels_sums_it_goes_on(void **unused)
{
	struct seen seen = watch_program();

	(void)unused;
	/* Where we had no CPU for long, no look met it running. */
	for (unsigned i = 1; i < TRIES && !times_are_right(&seen); i++)
		seen = watch_program();
	if (seen.probes.period_ns <= RUN_NS / 2) /* a sanitizer makes looks dear, so that they are few */
		assert_true(times_are_right(&seen));
	assert_int_equal(seen.ends, 0);
	assert_int_equal(seen.looked, seen.waits);
	/* It says what it does without. */
	assert_false(seen.probes.watched >> GST_PROBE_SWITCH & 1);
	assert_true(seen.probes.watched >> GST_PROBE_TASKS & 1);
	assert_int_equal(seen.queued_ns, 0); /* which nobody knows */
}

/* ---- numbers ---- */

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* What is open is of the one before. */
static void test_of_one_that_has_ended_another_with_its_number_is_not_looked_at(void **unused)
{
	struct watch w = { .waits = { .files = proc_files_new() } };
	pid_t before = start_sleeper(), now = start_sleeper();
	struct looked old = { .fd = -1 }, t = { .fd = -1 };
	struct proc_task id;

	(void)unused;
	assert_true(proc_task_read((uint32_t)before, (uint32_t)before, &id));
	looked_begin(&w, &old, &id, mono_ns());
	end(before);
	assert_true(proc_task_read((uint32_t)now, (uint32_t)now, &id));
	looked_begin(&w, &t, &id, mono_ns());
	assert_true(looked_again(&w, &t));
	if (old.fd >= 0 && t.fd >= 0) {
		close(t.fd);
		t.fd = old.fd;
		assert_false(looked_again(&w, &t));
	}
	end(now);
	if (t.fd >= 0)
		close(t.fd);
	proc_files_free(w.waits.files);
}

/* Makes one more when it is told to. */
static pid_t start_maker(int from)
{
	pid_t child = fork();
	char c;

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(from, &c, 1) == 1)
		start_sleeper();
	for (;;)
		pause();
}

static void poll_for(void *state, uint64_t ns)
{
	for (uint64_t begin = mono_ns(); mono_ns() - begin < ns;)
		assert_true(backend_perf.poll(state, 20));
}

/* It was made while its files could not be read, and goes on: so it is not told to have ended when they can. */
static void test_whose_birth_is_not_known_has_not_ended_for_that(void **unused)
{
	struct probes_settings settings = { .dir = dir, .limit = 1u << 30, .wait_ns = 20000 };
	struct host_file *file;
	char why[256], path[4096];
	struct seen seen;
	void *state;
	int go[2];

	(void)unused;
	assert_int_equal(pipe(go), 0);
	settings.root = start_maker(go[0]);
	assert_int_equal(host_file_create(&file, dir, settings.root, settings.limit), 0);
	if (!backend_perf.start(&state, &settings, file, why)) {
		end(settings.root);
		host_file_discard(file);
		close(go[0]);
		close(go[1]);
		skip(); /* a container, an emulator */
	}
	hidden = "/status";
	assert_int_equal(write(go[1], "x", 1), 1);
	poll_for(state, 500000000);
	hidden = NULL;
	poll_for(state, 2500000000);
	backend_perf.stop(state);
	snprintf(path, sizeof(path), "%s", host_file_path(file));
	host_file_end(file);
	seen = read_file(path);
	host_file_discard(file);
	end(settings.root);
	close(go[0]);
	close(go[1]);
	assert_true(seen.tasks >= 2); /* a sanitizer may have threads of its own */
	assert_int_equal(seen.ends, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_the_kernels_sums_it_goes_on),
		cmocka_unit_test(test_of_one_that_has_ended_another_with_its_number_is_not_looked_at),
		cmocka_unit_test(test_whose_birth_is_not_known_has_not_ended_for_that),
	};
	int failed;

	if (!mkdtemp(dir))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(dir);
	return failed;
}
