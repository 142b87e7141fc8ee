/* SPDX-License-Identifier: BSD-2-Clause */
/* host_pair CPU: two processes on one CPU that take turns. Prints its pid, then for each line of input "SWITCHES COMPUTE_NS MODE" makes that many switches,
 * and prints
 *   wall ns, CPU ns of both, switches; nanoseconds a switch takes, computing included: lowest, lower quartile, median of chunks of 100.
 * MODE pipe: they wake each other through pipes, and compute for so long after each switch. MODE yield: each gives up its CPU to the other, which wakes
 * nobody; with a place before all others, where that is allowed, so that the two are alone. Ends with its input. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHUNK 100 /* switches: short, so that most are not hit by somebody else on the CPU */

static int there[2], back[2];
static pid_t other;
static volatile int *yielding; /* the other goes on as long as it is not 0 */

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static _Noreturn void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void compute(uint32_t ns)
{
	uint64_t until = ns ? now_ns(CLOCK_THREAD_CPUTIME_ID) + ns : 0;

	while (ns && now_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

/* Answers every byte; 'c' says how long to compute before each answer, 't' asks for the CPU time so far, 'y' to yield. */
static _Noreturn void be_the_other(void)
{
	uint32_t compute_ns = 0;
	uint64_t cpu;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(there[1]);
	while (read(there[0], &byte, 1) == 1) {
		if (byte == 'c' && read(there[0], &compute_ns, sizeof(compute_ns)) != sizeof(compute_ns))
			break;
		while (byte == 'y' && *yielding)
			sched_yield();
		if (byte == 't') {
			cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
			if (write(back[1], &cpu, sizeof(cpu)) != sizeof(cpu))
				break;
			continue;
		}
		compute(byte == 'x' ? compute_ns : 0);
		if (write(back[1], &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static void trip(const void *bytes, size_t n)
{
	char answer;

	if (write(there[1], bytes, n) != (ssize_t)n || read(back[0], &answer, 1) != 1)
		fail("the other process");
}

static uint64_t cpu_of_both(void)
{
	uint64_t cpu;

	if (write(there[1], "t", 1) != 1 || read(back[0], &cpu, sizeof(cpu)) != sizeof(cpu))
		fail("the other process");
	return cpu + now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void trips(uint32_t n, uint32_t compute_ns)
{
	while (n-- > 0) {
		trip("x", 1);
		compute(compute_ns);
	}
}

static void yields(uint32_t n)
{
	while (n-- > 0)
		sched_yield();
}

static void before_others(bool wanted)
{
	const struct sched_param place = { .sched_priority = wanted };

	sched_setscheduler(other, wanted ? SCHED_FIFO : SCHED_OTHER, &place);
	sched_setscheduler(0, wanted ? SCHED_FIFO : SCHED_OTHER, &place);
}

static void begin_yielding(void)
{
	*yielding = 1;
	before_others(true);
	if (write(there[1], "y", 1) != 1)
		fail("the other process");
	yields(CHUNK);
}

static void end_yielding(void)
{
	char answer;

	*yielding = 0;
	if (read(back[0], &answer, 1) != 1)
		fail("the other process");
	before_others(false);
}

/* A turn there and back is two switches. */
static void run(uint32_t switches, uint32_t compute_ns, bool yield)
{
	uint32_t n = switches / CHUNK ? switches / CHUNK : 1;
	double *chunks = calloc(n, sizeof(*chunks));
	char tell[1 + sizeof(compute_ns)] = "c";
	uint64_t begin, cpu, at;

	if (!chunks)
		fail("memory");
	memcpy(tell + 1, &compute_ns, sizeof(compute_ns));
	trip(tell, sizeof(tell));
	cpu = cpu_of_both();
	if (yield)
		begin_yielding();
	begin = at = now_ns(CLOCK_MONOTONIC);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t end;

		if (yield)
			yields(CHUNK / 2);
		else
			trips(CHUNK / 2, compute_ns);
		end = now_ns(CLOCK_MONOTONIC);
		chunks[i] = (double)(end - at) / CHUNK;
		at = end;
	}
	if (yield)
		end_yielding();
	cpu = cpu_of_both() - cpu;
	qsort(chunks, n, sizeof(*chunks), by_value);
	printf("%llu %llu %u %.1f %.1f %.1f\n", (unsigned long long)(at - begin), (unsigned long long)cpu, n * CHUNK,
	       chunks[0], chunks[n / 4], chunks[n / 2]);
	free(chunks);
}

int main(int argc, char *argv[])
{
	unsigned switches, compute_ns;
	char mode[8];
	cpu_set_t set;

	if (argc != 2) {
		fputs("usage: host_pair CPU\n", stderr);
		return 2;
	}
	CPU_ZERO(&set);
	CPU_SET((unsigned)atoi(argv[1]), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("CPU");
	yielding = mmap(NULL, sizeof(*yielding), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (yielding == MAP_FAILED || pipe(there) || pipe(back))
		fail("pipe");
	other = fork();
	if (other < 0)
		fail("fork");
	if (other == 0)
		be_the_other();
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%d\n", (int)getpid());
	while (scanf("%u %u %7s", &switches, &compute_ns, mode) == 3)
		run(switches, compute_ns, strcmp(mode, "yield") == 0);
	return 0;
}
