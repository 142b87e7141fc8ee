/* SPDX-License-Identifier: BSD-2-Clause */
/* SIMGPU_SHARED where processes end, die, stop or fork, and where the file is not what it should be. */
#include "test_simgpu_shared.h"

#include "shared_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

/* ---- death ----------------------------------------------------------------------------------------------- */

static void dies_with_a_long_kernel(void)
{
	start();
	launch("long__30000000us", NULL);
	sleep_ns(2 * MS); /* it has begun */
	next_step();
	kill(getpid(), SIGKILL);
}

static void goes_on(void)
{
	long long begin_ns;

	start();
	wait_for_step(1);
	begin_ns = now_ns();
	launch("next__50us", NULL);
	OK(cuCtxSynchronize());
	EXPECT(1, now_ns() - begin_ns < 10000ll * MS); /* in fact 10 ms; the dead one's kernel takes 30 s */
}

static void a_killed_holder_does_not_keep_the_device(void **state)
{
	void (*const bodies[])(void) = { dies_with_a_long_kernel, goes_on };

	(void)state;
	begin_case();
	run_together(2, bodies);
	assert_int_equal(truths[1].count, 1);
	end_case();
}

static struct shared *map_device_file(void)
{
	int file = open(device_path, O_RDWR);
	struct shared *found = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	EXPECT(0, found == MAP_FAILED);
	return found; /* the file stays open: closing it would lose this process's place */
}

static void dies_with_the_lock(void)
{
	struct shared *found;

	start();
	meet(3);
	launch("k", NULL);
	found = map_device_file();
	EXPECT(0, pthread_mutex_lock(&found->lock));
	next_step();
	kill(getpid(), SIGKILL);
}

static void works_in_three_rounds(void)
{
	start();
	meet(3);
	wait_for_step(1);
	for (int i = 0; i < 3; i++) {
		launch("next__50us", NULL);
		OK(cuCtxSynchronize());
	}
}

/* Ten lines without any of ours: qemu-user refuses set_robust_list, so a dead holder's mutex stays locked for good. */
static bool dead_holders_mutex_is_freed(void)
{
	pthread_mutex_t *mutex = mmap(NULL, sizeof(*mutex), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attributes;
	bool is_freed;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(mutex, &attributes);
	if (fork() == 0)
		_exit(pthread_mutex_lock(mutex));
	wait(NULL);
	is_freed = pthread_mutex_trylock(mutex) == EOWNERDEAD;
	munmap(mutex, sizeof(*mutex));
	return is_freed;
}

static void a_process_killed_with_the_lock_hangs_nobody(void **state)
{
	void (*const bodies[])(void) = { dies_with_the_lock, works_in_three_rounds, works_in_three_rounds };

	(void)state;
	if (!dead_holders_mutex_is_freed()) {
		printf("skip: no robust mutexes here\n");
		skip();
	}
	begin_case();
	run_together(3, bodies);
	merge(3, 0, is_kernel);
	assert_int_equal(merged_count, 6);
	assert_turns();
	end_case();
}

static void stops_with_a_copy_under_way(void)
{
	CUdeviceptr to;

	start();
	to = device_memory(64 << 20);
	OK(cuMemcpyHtoDAsync(to, pinned_memory(64 << 20), 64 << 20, NULL));
	sleep_ns(5 * MS);
	next_step();
	kill(getpid(), SIGKILL);
}

static void copies_on(void)
{
	CUdeviceptr to;

	start();
	to = device_memory(1 << 20);
	wait_for_step(1);
	OK(cuMemcpyHtoDAsync(to, pinned_memory(1 << 20), 1 << 20, NULL));
	OK(cuCtxSynchronize());
}

static void a_killed_copy_does_not_keep_the_engine(void **state)
{
	void (*const bodies[])(void) = { stops_with_a_copy_under_way, copies_on };

	(void)state;
	begin_case();
	setenv("SIMGPU_H2D_GBPS", "0.5", 1); /* 134 ms */
	run_together(2, bodies);
	assert_int_equal(truths[1].count, 1);
	end_case();
}

static void leaves_work_behind(void)
{
	start();
	launch("left__900000us", NULL);
}

static void one_kernel(void)
{
	start();
	launch("k__100us", NULL);
	OK(cuCtxSynchronize());
}

static void stops_before_its_turn(void)
{
	start();
	meeting->number[1] = getpid();
	wait_for_step(1);
	launch("stopped__50us", NULL);
	kill(getpid(), SIGSTOP);
	next_step();
	OK(cuCtxSynchronize());
}

static void works_meanwhile(void)
{
	start();
	launch("first__300000us", NULL); /* all the rest is queued behind it */
	next_step();
	for (int i = 0; i < 50; i++)
		launch("while__1000us", NULL);
	OK(cuCtxSynchronize());
	while (atomic_load(&meeting->step) < 2) { /* on a slow machine it stops only now */
		kill((pid_t)meeting->number[1], SIGCONT);
		sleep_ns(1000000);
	}
}

static void a_stopped_process_loses_its_turn_but_not_its_work(void **state)
{
	void (*const bodies[])(void) = { works_meanwhile, stops_before_its_turn };

	(void)state;
	begin_case();
	meeting->number[1] = 0;
	run_together(2, bodies);
	merge(2, 0, is_kernel);
	assert_int_equal(merged_count, 52);
	assert_turns();
	assert_int_equal(merged[51].process, 1);
	/* Waiting for it costs no time on the device. */
	for (unsigned i = 2; i < 51; i++)
		assert_int_equal(merged[i].op->start_ns, merged[i - 1].op->end_ns);
	end_case();
}

/* The log of a process that exits holds what had begun: the device stays busy until then. What had not begun never does. */
static void work_pending_at_exit_keeps_its_place(void **state)
{
	void (*const bodies[])(void) = { leaves_work_behind }, (*const after[])(void) = { one_kernel };
	long long end_ns;

	(void)state;
	begin_case();
	run_together(1, bodies);
	assert_int_equal(truths[0].count, 1);
	end_ns = truths[0].ops[0].end_ns;
	run_together(1, bodies);
	assert_int_equal(truths[0].count, 0);
	run_together(1, after);
	assert_int_equal(truths[0].count, 1);
	if (truths[0].ops[0].submit_ns < end_ns)
		assert_int_equal(truths[0].ops[0].start_ns, end_ns + SWITCH_NS);
	else /* the machine was slow */
		assert_true(truths[0].ops[0].start_ns > end_ns + SWITCH_NS);
	end_case();
}

/* ---- the file -------------------------------------------------------------------------------------------- */

static void is_refused(void)
{
	CUdevice device;

	EXPECT(CUDA_ERROR_OPERATING_SYSTEM, cuInit(0));
	EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGet(&device, 0));
}

static void a_file_that_is_something_else_is_left_alone(void **state)
{
	static const char text[] = "somebody's precious notes, longer than a header\n";
	void (*const bodies[])(void) = { is_refused };
	char found[100] = "";
	FILE *file;

	(void)state;
	begin_case();
	file = fopen(device_path, "w");
	fputs(text, file);
	fclose(file);
	run_together(1, bodies);
	file = fopen(device_path, "r");
	assert_non_null(fgets(found, sizeof(found), file));
	fclose(file);
	assert_string_equal(found, text);
	end_case();
}

static void a_path_that_cannot_be_made_is_an_error(void **state)
{
	void (*const bodies[])(void) = { is_refused };

	(void)state;
	begin_case();
	setenv("SIMGPU_SHARED", "/nonexistent/folder/device", 1);
	run_together(1, bodies);
	end_case();
}

/* As after a power failure: processes that do not live, times of another boot, a lock nobody will give back. */
static void stale_contents_are_cleaned(void **state)
{
	void (*const bodies[])(void) = { one_kernel };
	struct shared *found;

	(void)state;
	begin_case();
	run_together(1, bodies);
	found = map_device_file();
	strcpy(found->boot, "another boot");
	found->gates[0][GATE_KERNELS].busy_until_ns = UINT64_MAX / 2;
	found->gates[0][GATE_KERNELS].wanted_ns[5] = 1;
	found->processes[5].id = 77;
	found->processes[5].used_bytes[0] = 100ull << 30;
	memset(&found->lock, 0xff, sizeof(found->lock));
	run_together(1, bodies);
	assert_int_equal(truths[0].count, 1);
	assert_int_equal(found->processes[5].id, 0);
	munmap(found, sizeof(*found));
	end_case();
}

static void a_file_of_another_version_is_made_anew(void **state)
{
	void (*const bodies[])(void) = { one_kernel };
	struct shared *found;

	(void)state;
	begin_case();
	run_together(1, bodies);
	found = map_device_file();
	found->version = SHARED_VERSION + 1;
	munmap(found, sizeof(*found));
	run_together(1, bodies);
	assert_int_equal(truths[0].count, 1);
	found = map_device_file();
	assert_int_equal(found->version, SHARED_VERSION);
	munmap(found, sizeof(*found));
	end_case();
}

/* ---- fork, and coming later ------------------------------------------------------------------------------ */

static void forks(void)
{
	int status;

	start();
	launch("parent__100us", NULL);
	if (fork() == 0) {
		CUdevice device;

		_exit(cuDeviceGet(&device, 0) != CUDA_ERROR_NOT_INITIALIZED);
	}
	wait(&status);
	EXPECT(0, status);
	if (fork() == 0)
		exit(0); /* with the driver's destructors */
	wait(&status);
	EXPECT(0, status);
	/* The parent has kept its place. */
	next_step();
	wait_for_step(2);
	launch("parent__100us", NULL);
	OK(cuCtxSynchronize());
}

static void comes_later(void)
{
	wait_for_step(1);
	start();
	launch("later__100us", NULL);
	OK(cuCtxSynchronize());
	next_step();
}

static void children_of_fork_leave_the_parent_its_place(void **state)
{
	void (*const bodies[])(void) = { forks, comes_later };

	(void)state;
	begin_case();
	run_together(2, bodies);
	merge(2, 0, is_kernel);
	assert_int_equal(merged_count, 3);
	assert_turns();
	assert_int_equal(merged[1].process, 1);
	end_case();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_killed_holder_does_not_keep_the_device),
		cmocka_unit_test(a_process_killed_with_the_lock_hangs_nobody),
		cmocka_unit_test(a_killed_copy_does_not_keep_the_engine),
		cmocka_unit_test(a_stopped_process_loses_its_turn_but_not_its_work),
		cmocka_unit_test(work_pending_at_exit_keeps_its_place),
		cmocka_unit_test(a_file_that_is_something_else_is_left_alone),
		cmocka_unit_test(a_path_that_cannot_be_made_is_an_error),
		cmocka_unit_test(stale_contents_are_cleaned),
		cmocka_unit_test(a_file_of_another_version_is_made_anew),
		cmocka_unit_test(children_of_fork_leave_the_parent_its_place),
	};

	cases_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
