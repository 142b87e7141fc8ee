/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_cost: what it takes to find the frames of a stack of 30, as a ratio to two reads of the processor's counter: ours by unwinding
 * tables, ours by frame pointers, libunwind's unw_backtrace where that library is there, libc's backtrace. Rounds are interleaved. */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "shim/arch.h"
#include "shim/stack_objects.h"
#include "shim/stack_walk.h"

#define FUNCTION __attribute__((noinline, noclone))
#define BEHIND __asm__ volatile("" : : : "memory")
#define DEEP 27 /* and main, and what is below it */
#define ROUNDS 61
#define PER_ROUND 200

static struct stack_window window = { .pages = STACK_WINDOW_PAGES };
static struct stack_native frames[STACK_NATIVE_MAX];
static void *addresses[128];
static int (*unwind)(void **, int);
static unsigned found;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- what is timed ---------------------------------------------------------------------------------------------------- */

static void by_reads(void)
{
	uint64_t begin = arch_ticks(), end = arch_ticks();

	__asm__ volatile("" : : "r"(begin), "r"(end));
}

static void by_tables(void)
{
	struct stack_registers here = { .fp_known = true };
	bool whole;

	arch_registers(&here.pc, &here.sp, &here.fp);
	stack_objects_begin();
	found = stack_walk(&here, &window, frames, &whole);
	for (unsigned i = 0; i < found; i++)
		stack_objects_use(frames[i].object);
	if (!stack_objects_hold())
		found = 0;
}

/* Of code that no table knows: the first frame is in memory of our own. */
static uint8_t *nowhere;

static void by_pointers(void)
{
	static uint64_t chain[2 * 32];
	struct stack_registers here = { .fp_known = true };
	bool whole;

	for (unsigned i = 0; i < 31; i++) {
		chain[2 * i] = i < 30 ? (uint64_t)(uintptr_t)&chain[2 * i + 2] : 0;
		chain[2 * i + 1] = i < 30 ? (uint64_t)(uintptr_t)nowhere + i : 0;
	}
	here.pc = (uint64_t)(uintptr_t)nowhere;
	here.sp = here.fp = (uint64_t)(uintptr_t)chain;
	stack_objects_begin();
	found = stack_walk(&here, &window, frames, &whole);
	for (unsigned i = 0; i < found; i++)
		stack_objects_use(frames[i].object);
	if (!stack_objects_hold())
		found = 0;
}

static void by_libunwind(void)
{
	found = (unsigned)unwind(addresses, 128);
}

static void by_libc(void)
{
	found = (unsigned)backtrace(addresses, 128);
}

/* ---- rounds ----------------------------------------------------------------------------------------------------------- */

struct way {
	const char *name;
	void (*run)(void);
	unsigned frames;
	double ns[ROUNDS];
};

static struct way ways[] = {
	{ .name = "two reads of the counter", .run = by_reads },
	{ .name = "by unwinding tables", .run = by_tables },
	{ .name = "by frame pointers", .run = by_pointers },
	{ .name = "libunwind's unw_backtrace", .run = by_libunwind },
	{ .name = "libc's backtrace", .run = by_libc },
};
#define WAYS (sizeof(ways) / sizeof(*ways))

static void measure(void)
{
	for (int round = -1; round < ROUNDS; round++) /* the first one warms up */
		for (unsigned w = 0; w < WAYS; w++) {
			int n = ways[w].run == by_reads ? PER_ROUND * 100 : PER_ROUND;
			double begin = now_ns();

			if (ways[w].run == by_libunwind && !unwind)
				continue;
			found = 0;
			for (int i = 0; i < n; i++)
				ways[w].run();
			if (round >= 0)
				ways[w].ns[round] = (now_ns() - begin) / n;
			ways[w].frames = found;
		}
}

FUNCTION static void descend(int n)
{
	if (n)
		descend(n - 1);
	else
		measure();
	BEHIND;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	double unit;

	*(void **)&unwind = library ? dlsym(library, "unw_backtrace") : NULL;
	nowhere = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	descend(DEEP);
	for (unsigned w = 0; w < WAYS; w++)
		qsort(ways[w].ns, ROUNDS, sizeof(double), ascending);
	unit = ways[0].ns[ROUNDS / 2];
	printf("%-28s %8s %8s %16s\n", "", "frames", "ratio", "middle half");
	for (unsigned w = 0; w < WAYS; w++)
		if (ways[w].ns[0] > 0)
			printf("%-28s %8u %8.2f %7.2f to %.2f\n", ways[w].name, ways[w].frames,
			       ways[w].ns[ROUNDS / 2] / unit, ways[w].ns[ROUNDS / 4] / unit,
			       ways[w].ns[ROUNDS * 3 / 4] / unit);
	printf("1.00 is %.1f ns\n", unit);
	return 0;
}
