/* SPDX-License-Identifier: BSD-2-Clause */
/* A file of host probes is read while its collector writes it as fast as it can, and gives up its oldest records for that: what is
 * read is whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/host_trace.h"
#include "shim/probes/host_file.h"

#define TASKS 20
#define RAN_NS 1000 /* between any two waits of a task */
#define LIMIT (4u << 20)
#define READ_NS 1000000000 /* how long it is read, again and again */

static void append_wait(struct host_file *f, uint32_t tid, uint64_t out, uint64_t in, unsigned number)
{
	struct gst_wait w = {
		.out = out, .wake = out, .in = in, .tid = tid, .waker = 1 + tid % TASKS, .by = GST_WOKEN_TASK
	};
	char name[32];

	snprintf(name, sizeof(name), "/data/%u", number % 50);
	w.what.file = host_file_name(f, name);
	host_file_append(f, GST_WAIT, sizeof(w), &w);
}

/* Each task is off its CPU but for a microsecond here and there. */
static void write_until_killed(const char *dir)
{
	struct gst_probes probes = { .begin = (uint64_t)life_now_ns(), .how = GST_PROBES_EBPF };
	uint64_t last[TASKS + 1];
	struct host_file *f;

	if (host_file_create(&f, dir, getpid(), LIMIT) != 0)
		_exit(1);
	host_file_append(f, GST_PROBES, sizeof(probes), &probes);
	for (uint32_t tid = 1; tid <= TASKS; tid++) {
		struct gst_task task = { .begin = probes.begin, .tid = tid, .pid = 1, .flags = GST_TASK_THERE };

		host_file_append(f, GST_TASK, sizeof(task), &task);
		last[tid] = probes.begin;
	}
	for (unsigned i = 0;; i++) {
		const struct timespec pause = { 0, 300000 };
		uint32_t tid = 1 + i % TASKS;
		uint64_t now = (uint64_t)life_now_ns();

		append_wait(f, tid, last[tid] + RAN_NS, now, i);
		last[tid] = now;
		if (i % 100 == 0) {
			host_file_beat(f);
			nanosleep(&pause, NULL);
		}
	}
}

static void check_task(const struct host_trace *t, const struct host_task *task)
{
	for (size_t i = host_wait_after(task, t->begin_ns); i < task->n_waits; i++) {
		const struct host_wait *w = &task->waits[i];

		assert_non_null(w->what.file);
		assert_memory_equal(w->what.file, "/data/", 6);
		assert_int_not_equal(w->waker, HOST_NOBODY);
		if (i > 0 && w[-1].in_ns >= t->begin_ns)
			assert_int_equal(w->out_ns - w[-1].in_ns, RAN_NS); /* none is missing in between */
		assert_true(w->in_ns <= task->end_ns);
	}
}

/* Segments given up so far. */
static uint64_t read_once(const char *path, enum life life)
{
	struct host_trace *t;
	struct error e;
	uint64_t given_up;
	int64_t now = life_now_ns();

	assert_int_equal(host_trace_open(&t, path, now, &e), ERR_NONE);
	if (t->damage.kind)
		fail_msg("byte %llu: %s", (unsigned long long)t->damage.byte, t->damage.text);
	/* a collector that gets no CPU for 0.1 s looks dead */
	assert_true(t->life == life || life == LIFE_RUNNING);
	assert_int_equal(t->n_tasks, TASKS);
	assert_int_equal(t->probes.how, GST_PROBES_EBPF);
	assert_int_equal(t->strays, 0);
	if (t->life == LIFE_RUNNING)
		assert_true(t->end_ns <= now);
	for (size_t i = 0; i < t->n_tasks; i++)
		check_task(t, &t->tasks[i]);
	given_up = t->counters.segments_recycled;
	host_trace_free(t);
	return given_up;
}

static void what_is_read_meanwhile_is_whole(void **state)
{
	char dir[] = "/tmp/gpushim-test-XXXXXX", command[128], path[512] = "";
	uint64_t given_up = 0;
	int64_t until;
	pid_t writer;
	FILE *list;

	(void)state;
	assert_non_null(mkdtemp(dir));
	writer = fork();
	assert_true(writer >= 0);
	if (writer == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		write_until_killed(dir);
	}
	snprintf(command, sizeof(command), "ls -d %s/*.host.gst 2>/dev/null", dir);
	for (int i = 0; i < 500 && !path[0]; i++) { /* it gets its name when it is whole */
		usleep(10000);
		list = popen(command, "r");
		assert_non_null(list);
		if (fgets(path, sizeof(path), list))
			path[strcspn(path, "\n")] = '\0';
		pclose(list);
	}
	usleep(50000); /* its tasks are in it by then */
	for (until = life_now_ns() + READ_NS; life_now_ns() < until || given_up < 3;)
		given_up = read_once(path, LIFE_RUNNING);
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	usleep(150000);
	assert_true(read_once(path, LIFE_CUT) >= given_up);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_read_meanwhile_is_whole) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
