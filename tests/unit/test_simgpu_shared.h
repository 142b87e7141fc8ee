/* SPDX-License-Identifier: BSD-2-Clause */
/* test_simgpu_shared.h: cases of several processes on one device file (SIMGPU_SHARED), which meet in a page they share. What is
 * asserted stands in their truth logs, read together; only where a process dies does a case look at the clock, with much room. */
#pragma once

#include "test_simgpu.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

enum { PROCESSES = 3, TURN_NS = 2000000, SWITCH_NS = 20000, MS = 1000000, QUEUED = 1000, KILLED = -1 };

/* What the processes of a case tell each other. */
static struct meeting {
	atomic_int here, step;
	long long number[PROCESSES];
} * meeting;

static struct truth truths[PROCESSES];
static char device_path[64];

static inline long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static inline void sleep_ns(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

static inline void wait_for_step(int step)
{
	while (atomic_load(&meeting->step) < step)
		sleep_ns(50000);
}

static inline void next_step(void)
{
	atomic_fetch_add(&meeting->step, 1);
}

/* Goes on when so many processes have come here. */
static inline void meet(int count)
{
	atomic_fetch_add(&meeting->here, 1);
	while (atomic_load(&meeting->here) < count)
		sleep_ns(50000);
}

static inline pid_t spawn(unsigned index, void (*body)(void), char *log)
{
	pid_t child;

	sprintf(log, "%s-%u", device_path, index);
	setenv("SIMGPU_LOG", log, 1);
	fflush(NULL);
	child = fork();
	if (child == 0) {
		child_begin();
		body();
		exit(0);
	}
	return child;
}

static inline void begin_case(void)
{
	strcpy(device_path, "/tmp/simgpu-shared-XXXXXX");
	close(mkstemp(device_path)); /* empty, as good as absent */
	setenv("SIMGPU_SHARED", device_path, 1);
	memset(meeting, 0, sizeof(*meeting));
}

static inline void end_case(void)
{
	unlink(device_path);
	settings_clear();
}

/* One process each, all at once, on one device file. A body that ends by SIGKILL leaves no checked truth. */
static inline void run_together(unsigned count, void (*const bodies[])(void))
{
	char logs[PROCESSES][80];
	pid_t children[PROCESSES];

	for (unsigned i = 0; i < count; i++)
		children[i] = spawn(i, bodies[i], logs[i]);
	for (unsigned i = 0; i < count; i++) {
		int status;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		truths[i].count = 0;
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
			unlink(logs[i]);
			continue;
		}
		assert_int_equal(status, 0);
		truth_load(&truths[i], logs[i]);
		unlink(logs[i]);
	}
}

struct merged {
	const struct truth_op *op;
	unsigned process;
};

static struct merged merged[PROCESSES * TRUTH_MAX];
static unsigned merged_count;

static inline int by_merged_start(const void *a, const void *b)
{
	const struct merged *one = a, *other = b;

	return by_start(one->op, other->op);
}

/* The operations of one device that the filter takes, by their start. */
static inline void merge(unsigned count, int device, bool (*filter)(const struct truth_op *))
{
	merged_count = 0;
	for (unsigned i = 0; i < count; i++)
		for (unsigned j = 0; j < truths[i].count; j++)
			if (truths[i].ops[j].device == device && filter(&truths[i].ops[j]))
				merged[merged_count++] = (struct merged){ &truths[i].ops[j], i };
	qsort(merged, merged_count, sizeof(*merged), by_merged_start);
}

static inline bool is_kernel(const struct truth_op *op)
{
	return !strcmp(op->op, "kernel");
}

static inline bool is_queued(const struct truth_op *op)
{
	return !strcmp(op->name, "\"k__100us\"");
}

static inline bool is_to_device(const struct truth_op *op)
{
	return !strncmp(op->kind, "\"h2d", 4);
}

/* Nothing of one process runs while something of another does. */
static inline void assert_turns(void)
{
	long long end_ns[PROCESSES] = { 0 };

	for (unsigned i = 0; i < merged_count; i++) {
		const struct truth_op *op = merged[i].op;

		for (unsigned p = 0; p < PROCESSES; p++)
			assert_true(p == merged[i].process || end_ns[p] <= op->start_ns);
		if (op->end_ns > end_ns[merged[i].process])
			end_ns[merged[i].process] = op->end_ns;
	}
}

/* What main begins with. */
static inline void cases_begin(void)
{
	settings_clear();
	meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (meeting == MAP_FAILED)
		abort();
}
