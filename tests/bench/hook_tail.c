/* SPDX-License-Identifier: BSD-2-Clause */
/* hook_tail: the slowest of many recorded launches, and not the typical one: what a program that waits for its slowest rank feels.
 *
 * One process, the shim preloaded, on the driver of idle_driver.c, each call timed by itself: past the shim (what the machine
 * does to anybody), through it, and through it while a second process has the disk of the trace written back all the time. Calls come in
 * bursts with a pause between, as in hook_cost. Percentiles of the calls' durations in ns, with what reading the counter costs
 * taken off. */
#include "idle_driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/arch.h"

enum { BURSTS = 64, PER_BURST = 8192, CALLS = BURSTS * PER_BURST, PAUSE_US = 2000, DIRTY_BYTES = 8 << 20 };

static uint32_t ticks[CALLS];
static double ns_per_tick;
static uint32_t read_cost; /* ticks: the median of what two reads in a row tell */

static uint64_t mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void calibrate(void)
{
	uint64_t begin_ns = mono_ns(), begin = arch_ticks();

	while (mono_ns() - begin_ns < 50000000)
		;
	ns_per_tick = (double)(mono_ns() - begin_ns) / (double)(arch_ticks() - begin);
	for (unsigned i = 0; i < CALLS; i++) {
		uint64_t t = arch_ticks();

		ticks[i] = (uint32_t)(arch_ticks() - t);
	}
	qsort(ticks, CALLS, sizeof(*ticks), by_value);
	read_cost = ticks[CALLS / 2];
}

static void time_launches(__typeof__(cuLaunchKernel) *launch)
{
	for (unsigned burst = 0; burst < BURSTS; burst++) {
		usleep(PAUSE_US);
		for (unsigned i = 0; i < PER_BURST; i++) {
			uint64_t t = arch_ticks();

			launch(ANY, 64, 1, 1, 256, 1, 1, 0, ANY, NULL, NULL);
			ticks[burst * PER_BURST + i] = (uint32_t)(arch_ticks() - t);
		}
	}
}

static double ns_at(double share)
{
	uint32_t t = ticks[(size_t)(share * (CALLS - 1))];

	return t > read_cost ? (t - read_cost) * ns_per_tick : 0;
}

static void measure(const char *what, __typeof__(cuLaunchKernel) *launch)
{
	uint64_t all = 0;

	time_launches(launch);
	for (unsigned i = 0; i < CALLS; i++)
		all += ticks[i];
	qsort(ticks, CALLS, sizeof(*ticks), by_value);
	printf("%-46s %9.0f %9.0f %9.0f %9.0f %11.0f\n", what, ((double)all / CALLS - read_cost) * ns_per_tick,
	       ns_at(0.5), ns_at(0.99), ns_at(0.999), ns_at(1));
}

/* Dirties pages beside the trace and has the whole file system written back, until it is killed. */
static pid_t start_writeback(void)
{
	pid_t child = fork();
	char path[] = "hook_tail-XXXXXX";
	char *block;
	int fd;

	if (child)
		return child;
	fd = mkstemp(path);
	unlink(path);
	block = calloc(1, DIRTY_BYTES);
	while (fd >= 0 && block && pwrite(fd, block, DIRTY_BYTES, 0) == DIRTY_BYTES && syncfs(fd) == 0)
		;
	perror("hook_tail: writing back");
	_exit(1);
}

int main(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	void *const *past = driver ? dlsym(driver, IDLE_CALLS) : NULL;
	__typeof__(cuLaunchKernel) *through = driver ? dlsym(driver, "cuLaunchKernel") : NULL;
	int status;
	pid_t child;

	if (!past) {
		fprintf(stderr, "hook_tail: libcuda.so.1 is not the driver of tests/bench\n");
		return 1;
	}
	calibrate();
	printf("%-46s %9s %9s %9s %9s %11s\n", "a launch, ns", "mean", "median", "p99", "p99.9", "maximum");
	measure("the driver alone", past[IDLE_LAUNCH]);
	measure("recorded, what is made at first use too", through);
	measure("recorded", through);
	child = start_writeback();
	measure("recorded, the disk being written back", through);
	if (child < 0 || waitpid(child, &status, WNOHANG) != 0) {
		fprintf(stderr, "hook_tail: nothing was written back: %s\n",
			child < 0 ? strerror(errno) : "it ended early");
		return 1;
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	child = start_writeback();
	measure("the driver alone, the disk being written back", past[IDLE_LAUNCH]);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return 0;
}
