/* SPDX-License-Identifier: BSD-2-Clause */
#include "common_driver.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct driver driver;

#define CALL(sym, name, version) { #sym, name, version, (void **)&driver.sym },
const struct driver_row driver_rows[CALL_COUNT] = {
#include "driver_calls.def"
};
#undef CALL

void driver_from_dlsym(void *handle)
{
	for (unsigned i = 0; i < CALL_COUNT; i++) {
		*driver_rows[i].place = dlsym(handle, driver_rows[i].symbol);
		if (!*driver_rows[i].place) {
			fprintf(stderr, "no %s in the driver\n", driver_rows[i].symbol);
			exit(3);
		}
	}
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- counts ---------------------------------------------------------------------------------------------- */

static uint64_t counts_nobody_reads[CALL_COUNT];
static uint64_t *counts = counts_nobody_reads;

void calls_count_in(const char *path)
{
	int file = open(path, O_RDWR | O_CREAT, 0600);
	void *shared = MAP_FAILED;

	if (file >= 0 && ftruncate(file, sizeof(counts_nobody_reads)) == 0)
		shared = mmap(NULL, sizeof(counts_nobody_reads), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (shared == MAP_FAILED) {
		perror(path);
		exit(3);
	}
	close(file);
	counts = shared;
}

void calls_print_names(void)
{
	for (unsigned i = 0; i < CALL_COUNT; i++)
		puts(driver_rows[i].symbol);
}

/* ---- times: a list per thread ---------------------------------------------------------------------------- */

struct call_times {
	uint64_t begin_ns, end_ns;
	uint16_t call;
	bool waits;
	CUresult result;
};

struct thread_calls {
	struct thread_calls *next;
	pid_t thread;
	size_t count, room;
	struct call_times *calls;
};

static bool keep;
static struct thread_calls *threads;
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct thread_calls *mine;

void calls_keep(void)
{
	keep = true;
}

static struct thread_calls *thread_calls(void)
{
	if (mine)
		return mine;
	mine = calloc(1, sizeof(*mine));
	if (!mine)
		abort();
	mine->thread = gettid();
	pthread_mutex_lock(&threads_lock);
	mine->next = threads;
	threads = mine;
	pthread_mutex_unlock(&threads_lock);
	return mine;
}

uint64_t call_begin(void)
{
	return keep ? now_ns() : 0;
}

void call_end(enum driver_call call, bool waits, uint64_t begin_ns, CUresult result)
{
	struct thread_calls *t;

	__atomic_fetch_add(&counts[call], 1, __ATOMIC_RELAXED);
	if (!keep)
		return;
	t = thread_calls();
	if (t->count == t->room) {
		t->room = t->room ? 2 * t->room : 4096;
		t->calls = realloc(t->calls, t->room * sizeof(*t->calls));
		if (!t->calls)
			abort();
	}
	t->calls[t->count++] = (struct call_times){ begin_ns, now_ns(), (uint16_t)call, waits, result };
}

void calls_write(const char *path)
{
	FILE *out = fopen(path, "w");

	if (!out) {
		perror(path);
		exit(3);
	}
	for (struct thread_calls *t = threads; t; t = t->next)
		for (size_t i = 0; i < t->count; i++) {
			const struct call_times *c = &t->calls[i];

			fprintf(out, "%llu %llu %s %d %d %d\n", (unsigned long long)c->begin_ns,
				(unsigned long long)c->end_ns, driver_rows[c->call].symbol, (int)t->thread,
				(int)c->result, c->waits);
		}
	fclose(out);
}
