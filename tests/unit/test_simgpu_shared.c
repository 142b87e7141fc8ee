/* SPDX-License-Identifier: BSD-2-Clause */
/* SIMGPU_SHARED: several processes on one device. What is asserted stands in their truth logs, read together; only where a
 * process dies does a case look at the clock, with much room. */
#include "test_simgpu.h"

#include "shared_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { PROCESSES = 3, TURN_NS = 2000000, SWITCH_NS = 20000, MS = 1000000, QUEUED = 1000, KILLED = -1 };

/* What the processes of a case tell each other. */
static struct meeting {
	atomic_int here, step;
	long long number[PROCESSES];
} * meeting;

static struct truth truths[PROCESSES];
static char device_path[64];

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void sleep_ns(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

static void wait_for_step(int step)
{
	while (atomic_load(&meeting->step) < step)
		sleep_ns(50000);
}

static void next_step(void)
{
	atomic_fetch_add(&meeting->step, 1);
}

/* Goes on when so many processes have come here. */
static void meet(int count)
{
	atomic_fetch_add(&meeting->here, 1);
	while (atomic_load(&meeting->here) < count)
		sleep_ns(50000);
}

static pid_t spawn(unsigned index, void (*body)(void), char *log)
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

static void begin_case(void)
{
	strcpy(device_path, "/tmp/simgpu-shared-XXXXXX");
	close(mkstemp(device_path)); /* empty, as good as absent */
	setenv("SIMGPU_SHARED", device_path, 1);
	memset(meeting, 0, sizeof(*meeting));
}

static void end_case(void)
{
	unlink(device_path);
	settings_clear();
}

/* One process each, all at once, on one device file. A body that ends by SIGKILL leaves no checked truth. */
static void run_together(unsigned count, void (*const bodies[])(void))
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

static int by_merged_start(const void *a, const void *b)
{
	const struct merged *one = a, *other = b;

	return by_start(one->op, other->op);
}

/* The operations of one device that the filter takes, by their start. */
static void merge(unsigned count, int device, bool (*filter)(const struct truth_op *))
{
	merged_count = 0;
	for (unsigned i = 0; i < count; i++)
		for (unsigned j = 0; j < truths[i].count; j++)
			if (truths[i].ops[j].device == device && filter(&truths[i].ops[j]))
				merged[merged_count++] = (struct merged){ &truths[i].ops[j], i };
	qsort(merged, merged_count, sizeof(*merged), by_merged_start);
}

static bool is_kernel(const struct truth_op *op)
{
	return !strcmp(op->op, "kernel");
}

static bool is_queued(const struct truth_op *op)
{
	return !strcmp(op->name, "\"k__100us\"");
}

static bool is_to_device(const struct truth_op *op)
{
	return !strncmp(op->kind, "\"h2d", 4);
}

/* Nothing of one process runs while something of another does. */
static void assert_turns(void)
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

/* ---- turns ----------------------------------------------------------------------------------------------- */

static void queue_of_kernels(void)
{
	CUstream s;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	meet(2);
	launch("lead__200000us", s); /* while it runs all the rest is queued */
	for (int i = 0; i < QUEUED; i++)
		launch("k__100us", s);
	OK(cuStreamSynchronize(s));
}

/* The stretch of `merged` in which both processes have begun and neither has finished. */
static void find_both(unsigned each, unsigned *first, unsigned *last)
{
	unsigned begun[2] = { 0 };

	for (*first = 0; *first < merged_count && !(begun[0] && begun[1]); ++*first)
		begun[merged[*first].process]++;
	for (*last = *first; *last < merged_count && begun[0] < each && begun[1] < each; ++*last)
		begun[merged[*last].process]++;
}

static void two_long_queues_share_the_device_half_and_half(void **state)
{
	void (*const bodies[])(void) = { queue_of_kernels, queue_of_kernels };
	unsigned done[2] = { 0 }, first, last, turns = 0;
	long long turn_begin_ns = 0;

	(void)state;
	begin_case();
	run_together(2, bodies);
	merge(2, 0, is_queued);
	assert_int_equal(merged_count, 2 * QUEUED);
	assert_turns();
	find_both(QUEUED, &first, &last);
	assert_true(last - first > QUEUED / 2); /* they did meet */
	/* No time is lost but by the switches, and no turn is longer than it may be. */
	for (unsigned i = first; i < last; i++) {
		const struct merged *before = &merged[i - 1], *now = &merged[i];
		bool switched = before->process != now->process;

		done[now->process]++;
		assert_int_equal(now->op->start_ns - before->op->end_ns, switched ? SWITCH_NS : 0);
		if (switched) {
			if (turn_begin_ns)
				assert_true(before->op->end_ns - turn_begin_ns <= TURN_NS + 100000);
			turn_begin_ns = now->op->start_ns;
			turns++;
		}
	}
	assert_true(turns >= (last - first) / 40);
	assert_in_range(done[0], done[1] > 42 ? done[1] - 42 : 0, done[1] + 42); /* a turn is 20 kernels or 21 */
	end_case();
}

static void thousand_kernels(void)
{
	CUstream s;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	for (int i = 0; i < 1000; i++)
		launch("many__500us", s);
	next_step();
	OK(cuStreamSynchronize(s));
}

static void one_now_and_then(void)
{
	CUstream s;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	wait_for_step(1);
	for (int i = 0; i < 10; i++) {
		launch("few__50us", s);
		OK(cuStreamSynchronize(s));
	}
}

static void a_long_queue_does_not_starve_another_process(void **state)
{
	void (*const bodies[])(void) = { thousand_kernels, one_now_and_then };
	unsigned soon = 0;

	(void)state;
	begin_case();
	run_together(2, bodies);
	merge(2, 0, is_kernel);
	assert_int_equal(merged_count, 1010);
	assert_turns();
	/* At most the rest of the other's turn, its last kernel, a switch; from the call's entry, so that a host that is late now and
	 * then must be excused. */
	for (unsigned i = 0; i < 10; i++)
		soon += truths[1].ops[i].start_ns - truths[1].ops[i].submit_ns <= TURN_NS + 500000 + SWITCH_NS + 100000;
	assert_in_range(soon, 6, 10);
	assert_true(truths[1].ops[9].end_ns < truths[0].ops[999].start_ns);
	end_case();
}

/* Eight kernels that are ready at the same moment, the end of one before them. */
static void side_by_side(void)
{
	CUstream lead;
	CUevent led;

	start();
	lead = stream(CU_STREAM_NON_BLOCKING);
	OK(cuEventCreate(&led, CU_EVENT_DISABLE_TIMING));
	meet(2);
	launch("lead__400000us", lead);
	OK(cuEventRecord(led, lead));
	for (int i = 0; i < 8; i++) {
		CUstream s = stream(CU_STREAM_NON_BLOCKING);

		OK(cuStreamWaitEvent(s, led, 0));
		launch("wide__20000us", s);
	}
	OK(cuCtxSynchronize());
}

static void kernels_of_one_process_still_run_together(void **state)
{
	void (*const bodies[])(void) = { side_by_side, side_by_side };

	(void)state;
	begin_case();
	run_together(2, bodies);
	merge(2, 0, is_kernel);
	assert_int_equal(merged_count, 18);
	assert_turns();
	/* A long kernel is not interrupted, but then it is the other's turn: one, the other, eight of the one at once, eight of the
	 * other. */
	assert_true(merged[0].process != merged[1].process);
	assert_int_equal(merged[1].op->start_ns, merged[0].op->end_ns + SWITCH_NS);
	for (unsigned i = 2; i < 18; i++) {
		assert_true(merged[i].process == merged[i < 10 ? 0 : 1].process);
		assert_int_equal(merged[i].op->start_ns, merged[i < 10 ? 1 : 2].op->end_ns + SWITCH_NS);
	}
	end_case();
}

static void holds_the_device(void)
{
	start();
	meet(2);
	launch("long__500000us", NULL);
	next_step();
	OK(cuCtxSynchronize());
}

static void times_a_kernel(void)
{
	CUevent before, after, copied;
	CUdeviceptr to;
	void *from;
	CUstream s;
	float ms;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	OK(cuEventCreate(&before, 0));
	OK(cuEventCreate(&after, 0));
	OK(cuEventCreate(&copied, 0));
	to = device_memory(4096);
	from = pinned_memory(4096);
	meet(2);
	wait_for_step(1);
	OK(cuEventRecord(before, NULL));
	launch("short__1000us", NULL);
	OK(cuEventRecord(after, NULL));
	EXPECT(CUDA_ERROR_NOT_READY, cuEventQuery(before));
	OK(cuMemcpyHtoDAsync(to, from, 4096, s));
	OK(cuEventRecord(copied, s));
	OK(cuEventSynchronize(copied));
	EXPECT(CUDA_ERROR_NOT_READY, cuEventQuery(before));
	OK(cuEventSynchronize(after));
	OK(cuEventElapsedTime(&ms, before, after));
	EXPECT(1, ms > 0.998f && ms < 1.002f);
}

/* A context that is switched out does not even take the time: an event before a kernel fires when the turn comes, one behind it
 * when it ends. A copy has its own way, and so has the event behind it. */
static void events_wait_for_the_turn(void **state)
{
	void (*const bodies[])(void) = { holds_the_device, times_a_kernel };

	(void)state;
	begin_case();
	run_together(2, bodies);
	assert_true(truth_find(&truths[1], "short__1000us")->start_ns >= truths[0].ops[0].end_ns + SWITCH_NS);
	end_case();
}

static void on_device(int device)
{
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, device));
	OK(cuCtxSetCurrent(context));
	OK(cuModuleLoadData(&module, "any image"));
	meet(2);
	launch("k__300000us", NULL);
}

static void on_device_0(void)
{
	on_device(0);
}

static void on_device_1(void)
{
	on_device(1);
}

static void each_device_has_turns_of_its_own(void **state)
{
	void (*const bodies[])(void) = { on_device_0, on_device_1 };

	(void)state;
	begin_case();
	setenv("SIMGPU_DEVICES", "2", 1);
	run_together(2, bodies);
	assert_true(truths[0].ops[0].start_ns < truths[1].ops[0].end_ns &&
		    truths[1].ops[0].start_ns < truths[0].ops[0].end_ns);
	end_case();
}

/* ---- copies ---------------------------------------------------------------------------------------------- */

static void many_copies(void)
{
	enum { SMALL = 32 << 10, LARGE = 300 << 10 };
	CUdeviceptr to;
	void *from;
	CUstream s;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	to = device_memory(LARGE);
	from = pinned_memory(LARGE);
	meet(PROCESSES);
	for (int i = 0; i < 60; i++)
		OK(cuMemcpyHtoDAsync(to, from, i % 5 ? SMALL : LARGE, s));
	OK(cuStreamSynchronize(s));
}

static void a_copy_engine_does_one_copy_at_a_time(void **state)
{
	void (*const bodies[])(void) = { many_copies, many_copies, many_copies };
	unsigned switches = 0;

	(void)state;
	begin_case();
	setenv("SIMGPU_H2D_GBPS", "0.05", 1); /* 655 us and 6 ms a copy: 100 ms a process */
	run_together(3, bodies);
	merge(3, 0, is_to_device);
	assert_int_equal(merged_count, 180);
	for (unsigned i = 1; i < merged_count; i++) {
		assert_true(merged[i].op->start_ns >= merged[i - 1].op->end_ns);
		switches += merged[i].process != merged[i - 1].process;
	}
	assert_true(switches >= 6);
	end_case();
}

static void copies_between_devices(void)
{
	CUdeviceptr from, to;
	CUcontext sender;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&sender, 0));
	OK(cuCtxSetCurrent(sender));
	from = device_memory(32 << 10);
	OK(cuDevicePrimaryCtxRetain(&context, 1));
	OK(cuCtxSetCurrent(context));
	to = device_memory(32 << 10);
	meet(2);
	for (int i = 0; i < 20; i++)
		OK(cuMemcpyPeerAsync(to, context, from, sender, 32 << 10, NULL));
	OK(cuCtxSynchronize());
}

static void copies_back(void)
{
	CUdeviceptr from;
	void *to;

	start();
	from = device_memory(32 << 10);
	to = pinned_memory(32 << 10);
	meet(2);
	for (int i = 0; i < 20; i++)
		OK(cuMemcpyDtoHAsync(to, from, 32 << 10, NULL));
	OK(cuCtxSynchronize());
}

static void a_copy_to_another_device_needs_the_senders_engine(void **state)
{
	void (*const bodies[])(void) = { copies_between_devices, copies_back };
	long long end_ns = 0;
	unsigned at[2] = { 0 };

	(void)state;
	begin_case();
	setenv("SIMGPU_DEVICES", "2", 1);
	setenv("SIMGPU_H2D_GBPS", "0.1", 1); /* 328 us a copy */
	run_together(2, bodies);
	assert_int_equal(truths[0].count, 20);
	assert_int_equal(truths[1].count, 20);
	while (at[0] < 20 || at[1] < 20) {
		unsigned next =
			at[1] == 20 || (at[0] < 20 && truths[0].ops[at[0]].start_ns < truths[1].ops[at[1]].start_ns)
				? 0
				: 1;
		const struct truth_op *op = &truths[next].ops[at[next]++];

		assert_true(op->start_ns >= end_ns);
		end_ns = op->end_ns;
	}
	end_case();
}

/* ---- memory ---------------------------------------------------------------------------------------------- */

static long long free_bytes(void)
{
	size_t left, total;

	OK(cuMemGetInfo(&left, &total));
	EXPECT(1024ll << 20, total);
	return (long long)left;
}

static void takes_most(void)
{
	start();
	(void)device_memory(600 << 20);
	next_step();
	wait_for_step(2);
	if (meeting->number[0] == KILLED)
		kill(getpid(), SIGKILL);
}

static void wants_the_rest(void)
{
	CUdeviceptr memory;

	start();
	wait_for_step(1);
	EXPECT(424ll << 20, free_bytes());
	EXPECT(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&memory, 500 << 20));
	OK(cuMemAlloc(&memory, 400 << 20));
	EXPECT(24ll << 20, free_bytes());
	OK(cuMemFree(memory));
	next_step();
	for (int i = 0; free_bytes() != 1024ll << 20; i++) {
		EXPECT(1, i < 20000);
		sleep_ns(MS);
	}
	OK(cuMemAlloc(&memory, 1000 << 20));
}

static void share_memory(int how)
{
	void (*const bodies[])(void) = { takes_most, wants_the_rest };

	begin_case();
	setenv("SIMGPU_MEM_BYTES", "1G", 1);
	meeting->number[0] = how;
	run_together(2, bodies);
	end_case();
}

static void memory_is_one_and_comes_back_at_exit(void **state)
{
	(void)state;
	share_memory(0);
}

static void memory_of_a_killed_process_comes_back(void **state)
{
	(void)state;
	share_memory(KILLED);
}

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

static void a_process_killed_with_the_lock_hangs_nobody(void **state)
{
	void (*const bodies[])(void) = { dies_with_the_lock, works_in_three_rounds, works_in_three_rounds };

	(void)state;
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
	OK(cuCtxSynchronize());
}

static void works_meanwhile(void)
{
	start();
	launch("first__20000us", NULL);
	next_step();
	for (int i = 0; i < 50; i++)
		launch("while__1000us", NULL);
	OK(cuCtxSynchronize());
	kill((pid_t)meeting->number[1], SIGCONT);
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
	assert_int_equal(truths[0].ops[0].start_ns, end_ns + SWITCH_NS);
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
		cmocka_unit_test(two_long_queues_share_the_device_half_and_half),
		cmocka_unit_test(a_long_queue_does_not_starve_another_process),
		cmocka_unit_test(kernels_of_one_process_still_run_together),
		cmocka_unit_test(events_wait_for_the_turn),
		cmocka_unit_test(each_device_has_turns_of_its_own),
		cmocka_unit_test(a_copy_engine_does_one_copy_at_a_time),
		cmocka_unit_test(a_copy_to_another_device_needs_the_senders_engine),
		cmocka_unit_test(memory_is_one_and_comes_back_at_exit),
		cmocka_unit_test(memory_of_a_killed_process_comes_back),
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

	settings_clear();
	meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return meeting == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
