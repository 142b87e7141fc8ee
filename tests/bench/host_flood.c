/* SPDX-License-Identifier: BSD-2-Clause */
/* host_flood DIR SECONDS RATE: the collector under a flood. Of a tree whose threads give up their CPU all the time, RATE times a second together, every
 * switch becomes a record: the collector's own code runs here with no least length of a wait. Prints
 *   seconds, switches of the tree as the kernel counts them, of them in the file, records dropped (the kernel's buffer or the file was full), the
 *   collector's CPU ns, the most anonymous memory it had in KiB, the way it followed. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "read/reader.h"
#include "shim/probes/collector.h"

#define PERIOD_NS 1000000
#define PAIRS_MAX 4

static struct shared {
	_Atomic bool go, over;
	_Atomic uint64_t switches; /* by the kernel's accounts, when it is over */
	unsigned rate;
	double seconds;
} * shared;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static _Noreturn void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- the tree ----------------------------------------------------------------------------------------------------------- */

static unsigned pairs;

static uint64_t own_switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return (uint64_t)u.ru_nvcsw + (uint64_t)u.ru_nivcsw;
}

/* Its share of the rate: two on each CPU give way to each other; who is ahead of its time naps. */
static void *yielder(void *arg)
{
	const struct timespec nap = { .tv_nsec = PERIOD_NS / 4 };
	const struct sched_param lowest = { .sched_priority = 1 };
	uint64_t begin, from;
	double share = (double)shared->rate / (2 * pairs) / 1e9;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)(uintptr_t)arg, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	/* Else who yields on a busy machine gives way to others for milliseconds. */
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest);
	while (!shared->go)
		nanosleep(&nap, NULL);
	from = own_switches();
	begin = now_ns();
	while (!shared->over) {
		if ((double)(own_switches() - from) > share * (double)(now_ns() - begin)) {
			nanosleep(&nap, NULL);
			continue;
		}
		for (int i = 0; i < 64; i++)
			sched_yield();
	}
	atomic_fetch_add(&shared->switches, own_switches() - from);
	return NULL;
}

static _Noreturn void be_the_tree(void)
{
	pthread_t threads[2 * PAIRS_MAX];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uintptr_t i = 0; i < 2 * pairs; i++)
		if (pthread_create(&threads[i], NULL, yielder, (void *)(i / 2)))
			fail("thread");
	for (unsigned i = 0; i < 2 * pairs; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

/* ---- the collector ------------------------------------------------------------------------------------------------------ */

static volatile sig_atomic_t told;
static _Atomic long anonymous_kb;

static void look_at_memory(void)
{
	char line[128];
	long kb;
	FILE *f = fopen("/proc/self/smaps_rollup", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Anonymous: %ld", &kb) == 1 && kb > anonymous_kb)
			anonymous_kb = kb;
	if (f)
		fclose(f);
}

/* Begins the flood, ends it, and gives the collector a moment for what is left. */
static void *time_keeper(void *arg)
{
	const struct timespec tenth = { .tv_nsec = 100000000 };
	uint64_t begin = now_ns();

	(void)arg;
	shared->go = true;
	while ((double)(now_ns() - begin) < shared->seconds * 1e9) {
		nanosleep(&tenth, NULL);
		look_at_memory();
	}
	shared->seconds = (double)(now_ns() - begin) / 1e9;
	shared->over = true;
	nanosleep(&tenth, NULL);
	told = 1;
	return NULL;
}

/* What the file has of the tree's switches. */
static uint64_t count_written(const char *path)
{
	struct record_view v;
	struct reader *r;
	uint64_t n = 0;
	struct error e;

	if (reader_open(&r, path, &e)) {
		fprintf(stderr, "host_flood: %s\n", e.text);
		exit(1);
	}
	while (reader_next(r, &v)) {
		n += v.record->type == GST_WAIT;
		if (v.record->type == GST_STALLS)
			n += ((const struct gst_stalls *)v.record)->count;
	}
	reader_free(r);
	return n;
}

/* Behind the tree's threads, which come before all others, the collector would wait for ever. */
static void keep_off_their_cpus(void)
{
	unsigned n = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	CPU_ZERO(&set);
	for (unsigned cpu = pairs; cpu < n && cpu < CPU_SETSIZE; cpu++)
		CPU_SET(cpu, &set);
	if (pairs < n)
		sched_setaffinity(0, sizeof(set), &set);
}

int main(int argc, char *argv[])
{
	struct probes_settings settings = { .limit = 8ull << 30 };
	struct collector_sums sums;
	struct collector c;
	char why[256], path[4096];
	pthread_t keeper;
	const char *name;

	if (argc != 4) {
		fputs("usage: host_flood DIR SECONDS RATE\n", stderr);
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		fail("memory");
	shared->seconds = atof(argv[2]);
	shared->rate = (unsigned)atoi(argv[3]);
	pairs = (unsigned)sysconf(_SC_NPROCESSORS_ONLN) - 1; /* the last CPU is the collector's */
	pairs = pairs > PAIRS_MAX ? PAIRS_MAX : pairs ? pairs : 1;
	settings.dir = argv[1];
	settings.root = fork();
	if (settings.root < 0)
		fail("fork");
	if (settings.root == 0)
		be_the_tree();
	keep_off_their_cpus();
	if (!collector_start(&c, &settings, "auto", why)) {
		fprintf(stderr, "host_flood: %s\n", why);
		return 1;
	}
	if (pthread_create(&keeper, NULL, time_keeper, NULL))
		fail("thread");
	collector_follow(&c, &told);
	pthread_join(keeper, NULL);
	waitpid(settings.root, NULL, 0);
	name = c.backend->name;
	snprintf(path, sizeof(path), "%s", host_file_path(c.file));
	collector_finish(&c, &sums);
	printf("%.3f %llu %llu %llu %llu %ld %s\n", shared->seconds, (unsigned long long)shared->switches,
	       (unsigned long long)count_written(path), (unsigned long long)sums.dropped,
	       (unsigned long long)sums.own_cpu_ns, (long)anonymous_kb, name);
	return 0;
}
