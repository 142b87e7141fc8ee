/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads, fork, the end of the process. */
#include "test_simgpu.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

static struct truth truth;

enum { THREADS = 16, ROUNDS = 60, BYTES = 100 << 10 };

static atomic_int ran;

static void count_run(void *unused)
{
	(void)unused;
	atomic_fetch_add(&ran, 1);
}

/* Everything at once, each thread on memory of its own. */
static void *hammer(void *argument)
{
	unsigned char value = (unsigned char)(uintptr_t)argument;
	unsigned char *pinned, *back = malloc(BYTES);
	CUdeviceptr a, b;
	CUstream s;
	CUevent e, f;
	float ms;

	OK(cuCtxSetCurrent(context));
	s = stream(value % 2 ? 0 : CU_STREAM_NON_BLOCKING);
	OK(cuEventCreate(&e, 0));
	OK(cuEventCreate(&f, 0));
	pinned = pinned_memory(BYTES);
	a = device_memory(BYTES);
	b = device_memory(BYTES);
	for (int i = 0; i < ROUNDS; i++) {
		size_t bytes = i % 2 ? BYTES : 1000;

		memset(pinned, value + i, bytes);
		OK(cuEventRecord(e, s));
		OK(cuMemcpyHtoDAsync(a, pinned, bytes, s));
		launch("k__5us", s);
		OK(cuMemcpyDtoDAsync(b, a, bytes, s));
		OK(cuEventRecord(f, s));
		if (i % 10 == 0)
			OK(cuLaunchHostFunc(s, count_run, NULL));
		OK(cuMemcpyDtoHAsync(back, b, bytes, s));
		OK(cuStreamSynchronize(s));
		EXPECT((unsigned char)(value + i), back[bytes - 1]);
		OK(cuEventElapsedTime(&ms, e, f));
		EXPECT(1, ms >= 0.005f);
		OK(cuStreamQuery(s));
		/* The default stream orders itself with the blocking streams only. */
		if (value % 2)
			OK(cuMemsetD8(a, 0, bytes));
		else
			OK(cuMemsetD8Async(a, 0, bytes, s));
	}
	OK(cuMemFree(a));
	OK(cuMemFreeHost(pinned));
	OK(cuEventDestroy(e));
	OK(cuStreamDestroy(s));
	free(back);
	return NULL;
}

static void many_threads(void)
{
	pthread_t threads[THREADS];

	start();
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, hammer, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	OK(cuCtxSynchronize());
	EXPECT(THREADS * ROUNDS / 10, ran);
}

static void threads_do_not_disturb_each_other(void **state)
{
	long long end_ns[256] = { 0 };

	(void)state;
	run_in_child(many_threads, &truth);
	assert_int_equal(truth_calls(&truth, "cuLaunchKernel"), THREADS * ROUNDS);
	assert_int_equal(truth.count, THREADS * ROUNDS * 5 + THREADS * ROUNDS / 10);
	for (unsigned i = 0; i < truth.count; i++) {
		const struct truth_op *op = &truth.ops[i];

		assert_true(op->start_ns >= op->submit_ns + 5000);
		assert_true(op->start_ns >= end_ns[op->stream % 256]);
		end_ns[op->stream % 256] = op->end_ns;
	}
}

static atomic_bool stop;

/* The leak check at exit cannot be trusted in a child forked from several threads; elsewhere the driver's exit is part of the test. */
static void leave(int status)
{
#ifdef __SANITIZE_ADDRESS__
	_exit(status);
#else
	exit(status);
#endif
}

static void *keep_the_lock_busy(void *unused)
{
	(void)unused;
	OK(cuCtxSetCurrent(context));
	while (!stop) {
		CUresult result = cuStreamQuery(NULL);

		EXPECT(1, result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY);
	}
	return NULL;
}

static void in_forked_child(void)
{
	CUdeviceptr memory;
	CUcontext ctx;
	int n;

	EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuCtxSynchronize());
	EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(&memory, 4));
	EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuInit(0));
	EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuDriverGetVersion(&n));
}

static void fork_after_init(void)
{
	pthread_t thread;
	int status;

	start();
	launch("parent", NULL);
	OK(cuLaunchHostFunc(NULL, count_run, NULL));
	pthread_create(&thread, NULL, keep_the_lock_busy, NULL);
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();

		if (child == 0) {
			alarm(20); /* a deadlock would be a signal */
			in_forked_child();
			leave(0);
		}
		waitpid(child, &status, 0);
		EXPECT(0, status);
	}
	stop = true;
	pthread_join(thread, NULL);
	OK(cuCtxSynchronize());
	EXPECT(1, ran);
}

static void child_of_an_initialised_process_is_refused(void **state)
{
	(void)state;
	run_in_child(fork_after_init, &truth);
	/* Nothing of the children's is in the parent's truth. */
	assert_int_equal(truth_calls(&truth, "cuInit"), 1);
	assert_int_equal(truth_calls(&truth, "cuMemAlloc_v2"), 0);
	assert_int_equal(truth.count, 2);
}

static char directory[] = "/tmp/simgpu-fork-XXXXXX";

static void fork_before_init(void)
{
	int n, status;

	OK(cuDriverGetVersion(&n)); /* not yet initialised */
	for (int i = 0; i < 2; i++) {
		if (fork() == 0) {
			start();
			launch("child", NULL);
			exit(0);
		}
		wait(&status);
		EXPECT(0, status);
	}
	start();
	launch("parent", NULL);
	if (fork() == 0)
		exit(cuCtxSynchronize() != CUDA_ERROR_NOT_INITIALIZED);
	wait(&status);
	EXPECT(0, status);
}

static void every_process_writes_its_own_truth(void **state)
{
	char log[64], command[128];
	int files = 0, logs_of_children = 0, status;
	FILE *list;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(log, sizeof(log), "%s/%%p", directory);
	if (fork() == 0) {
		setenv("SIMGPU_LOG", log, 1);
		fork_before_init();
		exit(0);
	}
	wait(&status);
	assert_int_equal(status, 0);
	snprintf(command, sizeof(command), "ls %s/*", directory);
	list = popen(command, "r");
	while (fgets(command, sizeof(command), list)) {
		command[strcspn(command, "\n")] = 0;
		truth_load(&truth, command);
		files++;
		/* A child counts from zero: the parent's cuDriverGetVersion is the parent's. */
		logs_of_children += truth_calls(&truth, "cuDriverGetVersion") == 0;
		assert_int_equal(truth.count, truth_calls(&truth, "cuLaunchKernel"));
		unlink(command);
	}
	pclose(list);
	rmdir(directory);
	assert_int_equal(files, 4);
	assert_int_equal(logs_of_children, 3);
}

static void killed(void)
{
	struct timespec while_flushed = { .tv_sec = 1 };
	CUstream s;

	start();
	s = stream(0);
	for (int i = 0; i < 100; i++)
		launch("k", s);
	OK(cuStreamSynchronize(s));
	nanosleep(&while_flushed, NULL);
	kill(getpid(), SIGKILL);
}

static void a_kill_loses_little_truth(void **state)
{
	char path[] = "/tmp/simgpu-kill-XXXXXX";
	int status, file = mkstemp(path);

	(void)state;
	close(file);
	if (fork() == 0) {
		setenv("SIMGPU_LOG", path, 1);
		killed();
	}
	wait(&status);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	truth_load(&truth, path);
	unlink(path);
	assert_int_equal(truth.count, 100);
}

static void never_ends(void *unused)
{
	(void)unused;
	for (;;)
		pause();
}

static void exit_while_pending(void)
{
	start();
	launch("before__900000us", NULL);
	OK(cuLaunchHostFunc(NULL, never_ends, NULL));
	launch("unreached", NULL);
}

static void pending_work_at_exit_is_written_as_far_as_it_is_known(void **state)
{
	(void)state;
	run_in_child(exit_while_pending, &truth);
	assert_int_equal(truth.count, 1); /* what stands behind the host function never ran */
	assert_int_equal(truth.ops[0].end_ns - truth.ops[0].start_ns, 900000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_do_not_disturb_each_other),
		cmocka_unit_test(child_of_an_initialised_process_is_refused),
		cmocka_unit_test(every_process_writes_its_own_truth),
		cmocka_unit_test(a_kill_loses_little_truth),
		cmocka_unit_test(pending_work_at_exit_is_written_as_far_as_it_is_known),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
