/* SPDX-License-Identifier: BSD-2-Clause */
#include "sample_others.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "own_thread.h"

#define NOTED 4

static uint32_t noted[NOTED]; /* 0 none; the newest first */
static uint32_t last;         /* the others were asked up to here */

struct entry {
	uint64_t ino, off;
	unsigned short size;
	unsigned char type;
	char name[];
};

static bool is_noted(uint32_t tid)
{
	for (unsigned i = 0; i < NOTED; i++)
		if (noted[i] == tid)
			return true;
	return false;
}

void sample_others_note(uint32_t tid)
{
	if (is_noted(tid))
		return;
	for (unsigned i = NOTED - 1; i > 0; i--)
		noted[i] = noted[i - 1];
	noted[0] = tid;
}

struct list {
	uint32_t waiting, after, until, *tids; /* those with after < tid <= until */
	unsigned n;
};

static void take(struct list *l, uint32_t tid)
{
	if (tid > l->after && tid <= l->until && tid != l->waiting && l->n < SAMPLE_OTHERS_MAX && !is_noted(tid) &&
	    !own_thread_is(tid)) {
		l->tids[l->n++] = tid;
		last = tid;
	}
}

/* The kernel lists them as they were made; ids mostly grow with that. */
static void go_through(struct list *l)
{
	char buffer[2048] __attribute__((aligned(8)));
	int dir = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long bytes;

	while (dir >= 0 && l->n < SAMPLE_OTHERS_MAX &&
	       (bytes = syscall(SYS_getdents64, dir, buffer, sizeof(buffer))) > 0)
		for (long at = 0; at < bytes; at += ((struct entry *)(buffer + at))->size)
			take(l, (uint32_t)strtoul(((struct entry *)(buffer + at))->name, NULL, 10));
	if (dir >= 0)
		close(dir);
}

unsigned sample_others(uint32_t waiting, uint32_t tids[SAMPLE_OTHERS_MAX])
{
	struct list l = { .waiting = waiting, .after = last, .until = UINT32_MAX, .tids = tids };

	for (unsigned i = 0; i < NOTED; i++)
		if (noted[i] && noted[i] != waiting)
			tids[l.n++] = noted[i];
	go_through(&l);
	if (l.n < SAMPLE_OTHERS_MAX && l.after) { /* round again, up to where it began */
		l.until = l.after;
		l.after = 0;
		go_through(&l);
	}
	return l.n;
}

void sample_others_forget(void)
{
	last = 0;
	for (unsigned i = 0; i < NOTED; i++)
		noted[i] = 0;
}
