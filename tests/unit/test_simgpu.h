/* SPDX-License-Identifier: BSD-2-Clause */
/* test_simgpu.h: a case runs its calls in a child process of its own, with its own SIMGPU_ variables, and looks at the truth
 * log afterwards. The parent never calls the driver. What is asserted are model times and results, never the wall clock. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cuda.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TRUTH_MAX = 8192 };

struct truth_op {
	char op[16], name[64], kind[16];
	int device;
	unsigned stream;
	unsigned graph; /* 0: null */
	long long submit_ns, start_ns, end_ns, bytes;
};

struct truth {
	struct truth_op ops[TRUTH_MAX]; /* by start */
	unsigned count;
	char calls[1 << 14]; /* the last line */
};

/* In the child: any other result ends it with status 1. */
#define EXPECT(expected, expression)                                                                                   \
	do {                                                                                                           \
		long long is_ = (long long)(expression), want_ = (long long)(expected);                                \
		if (is_ != want_) {                                                                                    \
			fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #expression, is_, want_); \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)
#define OK(expression) EXPECT(CUDA_SUCCESS, expression)

static inline void settings_clear(void)
{
	static const char *const names[] = { "LOG",       "DEVICES",    "KERNEL_US", "H2D_GBPS",       "PAGEABLE_GBPS",
					     "MEM_BYTES", "LATENCY_US", "LAUNCH_NS", "DRIFT_PPM",      "QUEUE",
					     "SHARED",    "FAIL",       "SLOW",      "FIRST_LAUNCH_US" };
	char name[32];

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(name, sizeof(name), "SIMGPU_%s", names[i]);
		unsetenv(name);
	}
}

static inline int by_start(const void *a, const void *b)
{
	const struct truth_op *one = a, *other = b;

	return one->start_ns < other->start_ns ? -1 : one->start_ns > other->start_ns;
}

static inline void truth_load(struct truth *truth, const char *path)
{
	char line[1 << 14];
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	truth->count = 0;
	truth->calls[0] = 0;
	while (fgets(line, sizeof(line), file)) {
		struct truth_op *op = &truth->ops[truth->count];

		assert_int_equal(truth->calls[0], 0); /* the counts are the last line */
		if (!strncmp(line, "{\"calls\":", 9)) {
			strcpy(truth->calls, line);
			continue;
		}
		assert_true(truth->count < TRUTH_MAX);
		*op = (struct truth_op){ .name = "" };
		/* %[ matches no empty string, so the quote in front is part of name and kind. */
		assert_int_equal(
			sscanf(line,
			       "{\"op\":\"%15[a-z]\",\"device\":%d,\"stream\":%u,\"name\":%63[^,],\"kind\":%15[^,],"
			       "\"submit_ns\":%lld,\"start_ns\":%lld,\"end_ns\":%lld,\"bytes\":%lld",
			       op->op, &op->device, &op->stream, op->name, op->kind, &op->submit_ns, &op->start_ns,
			       &op->end_ns, &op->bytes),
			9);
		op->graph = (unsigned)atoi(strstr(line, "\"graph\":") + 8); /* null reads as 0 */
		truth->count++;
	}
	fclose(file);
	qsort(truth->ops, truth->count, sizeof(struct truth_op), by_start);
}

enum { CHILD_SECONDS = 100 }; /* sanitizers are slow */

/* In the child: a deadlock is a signal, and it does not outlive the test program. */
static inline void child_begin(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(CHILD_SECONDS);
}

/* Runs body in a child with the variables in place; the truth it left. */
static inline void run_in_child(void (*body)(void), struct truth *truth)
{
	char path[] = "/tmp/simgpu-test-XXXXXX";
	int status, file = mkstemp(path);
	pid_t child;

	assert_true(file >= 0);
	close(file);
	setenv("SIMGPU_LOG", path, 1);
	fflush(NULL);
	child = fork();
	if (child == 0) {
		child_begin();
		body();
		exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	if (truth)
		truth_load(truth, path);
	unlink(path);
	settings_clear();
}

static inline const struct truth_op *truth_find(const struct truth *truth, const char *name)
{
	for (unsigned i = 0; i < truth->count; i++)
		if (!strncmp(truth->ops[i].name + 1, name, strlen(name)) && truth->ops[i].name[strlen(name) + 1] == '"')
			return &truth->ops[i];
	fail_msg("no operation %s in the truth", name);
	return NULL;
}

static inline const struct truth_op *truth_nth(const struct truth *truth, const char *op, unsigned n)
{
	for (unsigned i = 0; i < truth->count; i++)
		if (!strcmp(truth->ops[i].op, op) && n-- == 0)
			return &truth->ops[i];
	fail_msg("not that many %s in the truth", op);
	return NULL;
}

static inline long long truth_calls(const struct truth *truth, const char *name)
{
	char quoted[96];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\":", name);
	at = strstr(truth->calls, quoted);
	return at ? atoll(at + strlen(quoted)) : 0;
}

/* ---- what every child starts with ------------------------------------------------------------------------- */

/* Not inlined: gcc 12 takes the address of the out parameter for one that dangles. */
#define APART __attribute__((noinline, unused))

static CUcontext context __attribute__((unused));
static CUmodule module __attribute__((unused));

static inline void start(void)
{
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuModuleLoadData(&module, "any image"));
}

APART static CUfunction function(const char *name)
{
	CUfunction f;

	OK(cuModuleGetFunction(&f, module, name));
	return f;
}

static inline CUresult launch_result(const char *name, CUstream s)
{
	return cuLaunchKernel(function(name), 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL);
}

/* A host function that holds a stream up until the gate opens: what is submitted meanwhile follows without a hole, however
 * slow the machine is. It is an operation in the truth, "hostfn". */
static int gate_is_open __attribute__((unused));

static inline void gate_wait(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&gate_is_open, __ATOMIC_ACQUIRE))
		usleep(100);
}

static inline void gate_close(CUstream s)
{
	__atomic_store_n(&gate_is_open, 0, __ATOMIC_RELEASE);
	OK(cuLaunchHostFunc(s, gate_wait, NULL));
}

static inline void gate_open(void)
{
	__atomic_store_n(&gate_is_open, 1, __ATOMIC_RELEASE);
}

/* The same for several streams, which wait for this event and go on at one moment. Open the gate only when all is submitted. */
APART static CUevent gate_event(void)
{
	CUevent event;
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	gate_close(s);
	OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	OK(cuEventRecord(event, s));
	return event;
}

static inline void launch(const char *name, CUstream s)
{
	OK(launch_result(name, s));
}

APART static CUstream stream(unsigned flags)
{
	CUstream s;

	OK(cuStreamCreate(&s, flags));
	return s;
}

/* A stream of the current context whose work begins when the gate opens. */
APART static CUstream stream_behind(CUevent gate)
{
	CUstream s = stream(CU_STREAM_NON_BLOCKING);

	OK(cuStreamWaitEvent(s, gate, 0));
	return s;
}

APART static CUdeviceptr device_memory(size_t bytes)
{
	CUdeviceptr memory;

	OK(cuMemAlloc(&memory, bytes));
	return memory;
}

APART static void *pinned_memory(size_t bytes)
{
	void *memory;

	OK(cuMemAllocHost(&memory, bytes));
	return memory;
}
