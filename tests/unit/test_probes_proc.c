/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks at /proc alone, on a kernel that does not sum up how long a task ran (CONFIG_SCHED_INFO): /proc/<tid>/schedstat is not there. */
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

#include "reader.h"
#include "shim/probes/backend.h"
#include "shim/probes/proc_text.h"

#define SLEEP_NS 100000000
#define RUN_NS 60000000u
#define WATCHED_NS 1500000000u
#define TRIES 5

static char dir[] = "/tmp/probes-proc-XXXXXX";
static bool hidden; /* schedstat */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? (mode_t)va_arg(args, unsigned) : 0;
	va_end(args);
	if (hidden && strlen(path) > 10 && !strcmp(path + strlen(path) - 10, "/schedstat")) {
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
	uint64_t waited_ns; /* in these */
	uint64_t queued_ns;
	unsigned ends;
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
		if (view.record->type == GST_PROBES)
			s.probes = *(const struct gst_probes *)view.record;
		if (view.record->type != GST_WAIT || w->what.flags & GST_WAIT_LAST)
			continue;
		assert_true(w->what.flags & GST_WAIT_LOOKED);
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

	hidden = true;
	assert_int_equal(host_file_create(&file, dir, settings.root, settings.limit), 0);
	assert_true(backend_proc.start(&state, &settings, file, why));
	for (begin = mono_ns(); mono_ns() - begin < WATCHED_NS;) {
		assert_true(backend_proc.poll(state, 20));
		assert_true(backend_proc.alive(state));
	}
	backend_proc.stop(state);
	hidden = false;
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
	/* It says what it does without. */
	assert_false(seen.probes.watched >> GST_PROBE_SWITCH & 1);
	assert_true(seen.probes.watched >> GST_PROBE_TASKS & 1);
	assert_int_equal(seen.queued_ns, 0); /* which nobody knows */
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_the_kernels_sums_it_goes_on),
	};
	int failed;

	if (!mkdtemp(dir))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(dir);
	return failed;
}
