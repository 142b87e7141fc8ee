/* SPDX-License-Identifier: BSD-2-Clause */
/* hook_cost [TRACEPOINTS.so]: what recording one driver call costs, as a ratio to two reads of the processor's counter.
 *
 * One process, the shim preloaded, on the driver of idle_driver.c. Round by round, so that whatever the machine is doing meets all
 * alike: two reads of the counter; the same and 64 bytes into fresh pages of a file, which is the least a recorder into a file can
 * do; an LTTng-UST event pair; and each call of calls.def past the shim and through it, the difference being what recording it
 * costs. Medians over the rounds, with their quartiles. Before each loop the thread sleeps for a moment, as a program does
 * that also has other things to do; one row never does. The last two are of two threads at the same time. */
#include "idle_driver.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "shim/arch.h"

enum { ROUNDS = 61, PER_ROUND = 8192, ENDLESS = 65536, PAUSE_US = 2000 };

enum row {
	ROW_READS,
	ROW_FILE,
	ROW_LTTNG,
#define BENCH(symbol, ...) ROW_##symbol,
#include "calls.def"
#undef BENCH
	ROW_ENDLESS,
	ROW_READS_TWO,
	ROW_LAUNCH_TWO,
	ROWS
};

static const struct {
	const char *what;
	int n; /* a round */
} rows[ROWS] = {
	[ROW_READS] = { "two reads of the counter", PER_ROUND },
	[ROW_FILE] = { "the same and 64 bytes into a file", PER_ROUND },
	[ROW_LTTNG] = { "LTTng-UST, a pair of events", PER_ROUND },
#define BENCH(symbol, calls, ...) [ROW_##symbol] = { #symbol, calls },
#include "calls.def"
#undef BENCH
	[ROW_ENDLESS] = { "cuLaunchKernel, without a pause", ENDLESS },
	[ROW_READS_TWO] = { "two reads, in two threads at once", PER_ROUND },
	[ROW_LAUNCH_TWO] = { "cuLaunchKernel, in two threads at once", PER_ROUND },
};

static double cost_ns[ROWS][ROUNDS];

static double clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- what is timed ---------------------------------------------------------------------------------------------------- */

static void loop_reads(int n)
{
	for (int i = 0; i < n; i++) {
		uint64_t begin = arch_ticks(), end = arch_ticks();

		__asm__ volatile("" : : "r"(begin), "r"(end));
	}
}

static void loop_file(int n)
{
	char path[] = "hook_cost-XXXXXX"; /* in the current directory, as the trace is */
	size_t bytes = (size_t)n * 64;
	int fd = mkstemp(path);
	uint64_t record[8] = { 0 };
	uint8_t *to = MAP_FAILED;

	unlink(path);
	if (fd >= 0 && posix_fallocate(fd, 0, (off_t)bytes) == 0)
		to = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (to == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	for (int i = 0; i < n; i++) {
		record[1] = arch_ticks();
		record[2] = arch_ticks();
		memcpy(to + (size_t)i * 64, record, 64);
		__asm__ volatile("" : : : "memory");
	}
	munmap(to, bytes);
	close(fd);
}

#define BENCH(symbol, calls, parameters, ...)            \
	static void loop_##symbol(void *function, int n) \
	{                                                \
		__typeof__(symbol) *call = function;     \
                                                         \
		for (int i = 0; i < n; i++)              \
			call(__VA_ARGS__);               \
	}
#include "calls.def"
#undef BENCH

/* ---- rounds ----------------------------------------------------------------------------------------------------------- */

static void (*tracepoints_loop)(int n);

static double time_loop(void (*loop)(int n), int n)
{
	double begin;

	usleep(PAUSE_US);
	begin = clock_ns(CLOCK_MONOTONIC);
	loop(n);
	return (clock_ns(CLOCK_MONOTONIC) - begin) / n;
}

/* What the call costs past the shim is the driver's part, and taken off. */
static double time_call(void (*loop)(void *function, int n), int n, void *past, void *through)
{
	double begin, middle;

	usleep(PAUSE_US);
	begin = clock_ns(CLOCK_MONOTONIC);
	loop(past, n);
	middle = clock_ns(CLOCK_MONOTONIC);
	loop(through, n);
	return (clock_ns(CLOCK_MONOTONIC) - middle - (middle - begin)) / n;
}

/* ---- two threads at once, each with a stream of its own ----------------------------------------------------------------- */

static struct {
	pthread_barrier_t begin, end;
	void (*work)(void);
	double ns[2];
} pair;

static __typeof__(cuLaunchKernel) *pair_launch;

static void pair_reads(void)
{
	loop_reads(PER_ROUND);
}

static void pair_launches(void)
{
	static __thread char stream_of_thread;

	for (int i = 0; i < PER_ROUND; i++)
		pair_launch(ANY, 64, 1, 1, 256, 1, 1, 0, (CUstream)&stream_of_thread, NULL, NULL);
}

static void pair_run(int which)
{
	double begin;

	pthread_barrier_wait(&pair.begin);
	begin = clock_ns(CLOCK_MONOTONIC);
	pair.work();
	pair.ns[which] = clock_ns(CLOCK_MONOTONIC) - begin;
	pthread_barrier_wait(&pair.end);
}

static void *pair_second(void *unused)
{
	for (;;)
		pair_run(1);
	return unused;
}

/* Of one of the two, on the average. */
static double time_pair(void (*work)(void), void *launch)
{
	pair.work = work;
	pair_launch = launch;
	usleep(PAUSE_US);
	pair_run(0);
	return (pair.ns[0] + pair.ns[1]) / 2 / PER_ROUND;
}

static void start_second_thread(void)
{
	pthread_t id;

	pthread_barrier_init(&pair.begin, NULL, 2);
	pthread_barrier_init(&pair.end, NULL, 2);
	if (pthread_create(&id, NULL, pair_second, NULL)) {
		fprintf(stderr, "hook_cost: no second thread\n");
		exit(1);
	}
}

static void run_round(int round, void *driver, void *const *past)
{
	void *launch = past[IDLE_LAUNCH];

	cost_ns[ROW_READS][round] = time_loop(loop_reads, rows[ROW_READS].n);
	cost_ns[ROW_FILE][round] = time_loop(loop_file, rows[ROW_FILE].n);
	if (tracepoints_loop)
		cost_ns[ROW_LTTNG][round] = time_loop(tracepoints_loop, rows[ROW_LTTNG].n);
#define BENCH(symbol, calls, ...) \
	cost_ns[ROW_##symbol][round] = time_call(loop_##symbol, calls, *past++, dlsym(driver, #symbol));
#include "calls.def"
#undef BENCH
	cost_ns[ROW_ENDLESS][round] = time_call(loop_cuLaunchKernel, ENDLESS, launch, dlsym(driver, "cuLaunchKernel"));
	cost_ns[ROW_READS_TWO][round] = time_pair(pair_reads, NULL);
	cost_ns[ROW_LAUNCH_TWO][round] = -time_pair(pair_launches, launch);
	cost_ns[ROW_LAUNCH_TWO][round] += time_pair(pair_launches, dlsym(driver, "cuLaunchKernel"));
}

/* The pair's library, once a session listens to it. */
static void find_tracepoints(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	bool (*enabled)(void) = library ? (bool (*)(void))dlsym(library, "tracepoints_enabled") : NULL;

	for (int i = 0; enabled && !enabled() && i < 300; i++)
		usleep(10000);
	if (enabled && enabled())
		tracepoints_loop = (void (*)(int))dlsym(library, "tracepoints_loop");
	else
		printf("LTTng-UST: not measured: %s\n", library ? "no session listens" : dlerror());
}

/* ---- the table -------------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Ratios are made within a round: what slows a whole round slows both sides of them; of two threads, to the reads of two. */
static void print_row(enum row row)
{
	double ratios[ROUNDS], *ns = cost_ns[row];

	for (int i = 0; i < ROUNDS; i++)
		ratios[i] = ns[i] / cost_ns[row >= ROW_READS_TWO ? ROW_READS_TWO : ROW_READS][i];
	qsort(ratios, ROUNDS, sizeof(*ratios), by_value);
	printf("%-36s %8.2f   %8.2f to %8.2f\n", rows[row].what, ratios[ROUNDS / 2], ratios[ROUNDS / 4],
	       ratios[ROUNDS * 3 / 4]);
}

static void print_table(void)
{
	double reads[ROUNDS], calls = 0,
			      others = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - clock_ns(CLOCK_THREAD_CPUTIME_ID);

	printf("%-36s %8s   %s\n", "", "ratio", "middle half of the rounds");
	for (int row = 0; row < ROWS; row++) {
		if (row != ROW_LTTNG || tracepoints_loop)
			print_row(row);
		if (row > ROW_LTTNG && row != ROW_READS_TWO)
			calls += row == ROW_LAUNCH_TWO ? 2.0 * PER_ROUND * ROUNDS : (double)rows[row].n * ROUNDS;
	}
	memcpy(reads, cost_ns[ROW_READS], sizeof(reads));
	qsort(reads, ROUNDS, sizeof(*reads), by_value);
	printf("1.00 is %.1f ns here. The recorder's own threads, beside the program's: %.2f a recorded call.\n",
	       reads[ROUNDS / 2], others / calls / reads[ROUNDS / 2]);
}

int main(int argc, char **argv)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	void *const *past = driver ? dlsym(driver, IDLE_CALLS) : NULL;

	if (!past) {
		fprintf(stderr, "hook_cost: libcuda.so.1 is not the driver of tests/bench\n");
		return 1;
	}
	if (argc > 1)
		find_tracepoints(argv[1]);
	start_second_thread();
	/* Twice the first round: whatever is made at first use is made before it counts. */
	for (int round = -1; round < ROUNDS; round++)
		run_round(round < 0 ? 0 : round, driver, past);
	print_table();
	return 0;
}
