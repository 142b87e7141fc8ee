/* SPDX-License-Identifier: BSD-2-Clause */
/* call_cost: nanoseconds of one cheap driver call as the program sees it, and, in the same run, of what recording it cannot do
 * without: two reads of the clock and 64 bytes into a shared file mapping. scripts/bench-call.sh compares the two. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#define ticks() __rdtsc()
#else
static uint64_t ticks(void)
{
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
}
#endif

enum { CALLS = 200000, ROUNDS = 15 };

typedef int init_fn(unsigned flags);
typedef int call_fn(int target, int scope);

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), by_value);
	return values[ROUNDS / 2];
}

/* Fresh pages of a file each round, as a recorder that never overwrites has. */
static double floor_ns(void)
{
	char path[] = "/tmp/call_cost-XXXXXX";
	size_t bytes = (size_t)CALLS * 64;
	uint64_t record[8] = { 0 };
	double begin, ns;
	uint8_t *to;
	int fd = mkstemp(path);

	unlink(path);
	if (fd < 0 || posix_fallocate(fd, 0, (off_t)bytes) != 0)
		return 0;
	to = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	begin = now_ns();
	for (size_t i = 0; i < CALLS; i++) {
		record[1] = ticks();
		record[2] = ticks();
		memcpy(to + i * 64, record, 64);
		__asm__ volatile("" : : : "memory");
	}
	ns = now_ns() - begin;
	munmap(to, bytes);
	close(fd);
	return ns / CALLS;
}

int main(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	init_fn *init = driver ? (init_fn *)dlsym(driver, "cuInit") : NULL;
	call_fn *call = driver ? (call_fn *)dlsym(driver, "cuFlushGPUDirectRDMAWrites") : NULL;
	double calls[ROUNDS], floors[ROUNDS];

	if (!init || !call || init(0) != 0)
		return 1;
	for (int round = 0; round < ROUNDS; round++) {
		double begin = now_ns();

		for (int i = 0; i < CALLS; i++)
			call(0, 0);
		calls[round] = (now_ns() - begin) / CALLS;
		floors[round] = floor_ns();
	}
	printf("%.2f %.2f\n", median(calls), median(floors));
	return 0;
}
