/* SPDX-License-Identifier: BSD-2-Clause */
#include "sample_others.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dirent64.h"
#include "own_thread.h"
#include "task_file.h"
#include "thread.h"

#define NOTED 4
#define READS 3 /* of the list, each time */
#define READ_BYTES 512u
#define KNOWN 64

static uint32_t noted[NOTED]; /* 0 none; the newest first */
static off_t place;           /* in the list: the others were asked up to here */

/* ---- those that told something ------------------------------------------------------------------------------------------- */

static bool is_among(const uint32_t *tids, unsigned n, uint32_t tid)
{
	for (unsigned i = 0; i < n; i++)
		if (tids[i] == tid)
			return true;
	return false;
}

void sample_others_note(uint32_t tid, bool told)
{
	unsigned i = 0;

	while (i < NOTED && noted[i] != tid)
		i++;
	if (told) {
		for (i = i < NOTED ? i : NOTED - 1; i > 0; i--)
			noted[i] = noted[i - 1];
		noted[0] = tid;
	} else if (i < NOTED) {
		for (; i + 1 < NOTED; i++)
			noted[i] = noted[i + 1];
		noted[NOTED - 1] = 0;
	}
}

/* ---- all of them in turn --------------------------------------------------------------------------------------------------- */

static bool is_in_driver(uint32_t tid)
{
	for (unsigned i = 0; i < __atomic_load_n(&thread_slots_used, __ATOMIC_RELAXED); i++)
		if (__atomic_load_n(&thread_slots[i].tid, __ATOMIC_RELAXED) == tid)
			return __atomic_load_n(&thread_slots[i].in_call, __ATOMIC_RELAXED) != 0;
	return false;
}

struct list {
	uint32_t waiting, *tids;
	unsigned n;
};

static void take(struct list *l, uint32_t tid)
{
	if (tid && tid != l->waiting && !is_among(l->tids, l->n, tid) && !own_thread_is(tid) && !is_in_driver(tid))
		l->tids[l->n++] = tid;
}

/* A place in that list is a number of threads, so one that is new or has ended does not move it by much; and each thread that the kernel
 * names costs it something: no more of them are read than there is room for. */
static void go_through(struct list *l)
{
	struct linux_dirent64 *entry;
	char buffer[READ_BYTES] __attribute__((aligned(8)));
	int dir = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool again = false;

	if (dir < 0)
		return;
	if (lseek(dir, place, SEEK_SET) != place)
		place = 0;
	for (unsigned i = 0; i < READS && l->n < SAMPLE_OTHERS_MAX; i++) {
		long bytes = syscall(SYS_getdents64, dir, buffer, sizeof(buffer));

		if (bytes <= 0) { /* round again */
			place = 0;
			if (again || bytes < 0 || lseek(dir, 0, SEEK_SET) != 0)
				break;
			again = true;
		}
		for (long at = 0; at < bytes && l->n < SAMPLE_OTHERS_MAX; at += entry->size) {
			entry = (struct linux_dirent64 *)(buffer + at);
			place = (off_t)entry->off;
			take(l, (uint32_t)strtoul(entry->name, NULL, 10));
		}
	}
	close(dir);
}

unsigned sample_others(uint32_t waiting, uint32_t tids[SAMPLE_OTHERS_MAX])
{
	struct list l = { .waiting = waiting, .tids = tids };

	for (unsigned i = 0; i < NOTED; i++)
		take(&l, noted[i]);
	go_through(&l);
	return l.n;
}

/* ---- what they are --------------------------------------------------------------------------------------------------------- */

bool sample_others_is_a_librarys(uint32_t tid)
{
	static const char *const begins[] = { "NCCL ", "cuda-" };
	char name[32];

	task_file_read(name, sizeof(name), tid, "comm");
	for (unsigned i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (strncmp(name, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

static struct known {
	uint32_t tid;
	uint64_t turns;  /* on a CPU, at the last look */
	uint64_t looked; /* ticks of that */
	uint64_t at;     /* … and of the last one that found it to have run since the one before; 0 none did */
} known[KNOWN];

/* "computed waited turns" */
static uint64_t turns_of(uint32_t tid)
{
	char text[64], *at;

	task_file_read(text, sizeof(text), tid, "schedstat");
	strtoull(text, &at, 10);
	strtoull(at, &at, 10);
	return strtoull(at, NULL, 10);
}

bool sample_others_ran(uint32_t tid, uint64_t idle_ticks, uint64_t since, uint64_t now)
{
	struct known *k = &known[tid % KNOWN];
	uint64_t turns = turns_of(tid);

	if (k->tid != tid)
		*k = (struct known){ .tid = tid };
	else if (turns > k->turns + (idle_ticks ? 1 + (now - k->looked) / idle_ticks : 0))
		k->at = now;
	k->turns = turns;
	k->looked = now;
	return k->at && (int64_t)(k->at - since) >= 0;
}

void sample_others_forget(void)
{
	place = 0;
	memset(noted, 0, sizeof(noted));
	memset(known, 0, sizeof(known));
}
