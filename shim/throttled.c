/* SPDX-License-Identifier: BSD-2-Clause */
#include "throttled.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup_cpu.h"
#include "clock.h"
#include "proc_text.h"

#define AGAIN_NS 2000000000u /* a group may be given a quota, or the process be put into another group */
#define MOMENT_NS 1000000000u
#define SELDOM_NS 1000000u /* between two questions of threads that were not switched out */

/* What the other threads read. A path is written where they do not look, and stays what it is for as long as the next one is looked at. */
static char stat_paths[2][PATH_MAX + sizeof("/cpu.stat")];
static const char *stat_path; /* NULL: no quota */
static uint64_t heard_ns;     /* the group's own count */
static uint64_t grew_at_ns;   /* a question found more; 0 never */
static uint64_t asked_at_ns;
static bool asking;

static struct cgroup_cpu group;
static uint64_t found_ns; /* 0 never */

static void publish(void)
{
	const char *now = __atomic_load_n(&stat_path, __ATOMIC_RELAXED);
	char *next = stat_paths[now == stat_paths[0]];

	if (!group.quota) {
		__atomic_store_n(&stat_path, NULL, __ATOMIC_RELEASE);
		return;
	}
	snprintf(next, sizeof(stat_paths[0]), "%s/cpu.stat", group.dir);
	if (!now || strcmp(now, next) != 0)
		__atomic_store_n(&stat_path, next, __ATOMIC_RELEASE);
}

void throttled_watch(void)
{
	uint64_t now = clock_mono_ns();

	if (found_ns && now - found_ns <= AGAIN_NS)
		return;
	cgroup_cpu_find(&group, CGROUP_OWN);
	found_ns = now;
	publish();
}

uint64_t throttled_so_far(void)
{
	struct cgroup_throttled t;

	throttled_watch();
	return group.quota && cgroup_cpu_read(&group, &t) ? t.ns + 1 : 0;
}

/* Of a traced thread, whose stack may be small. System calls as such: libc's are points at which a thread may be cancelled;
 * none that the recorder does not use anyway (RUN_DIRECTORY.md), as a filter may kill. */
static bool read_stat(const char *path, struct cgroup_throttled *t)
{
	char text[512]; /* what is looked for is among the first lines of both versions */
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? -1 : syscall(SYS_read, (int)fd, text, sizeof(text) - 1);

	if (fd >= 0)
		syscall(SYS_close, (int)fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	return cgroup_cpu_parse(text, t);
}

static void ask(const char *path, uint64_t now)
{
	struct cgroup_throttled t;
	uint64_t heard = __atomic_load_n(&heard_ns, __ATOMIC_RELAXED);

	if (__atomic_exchange_n(&asking, true, __ATOMIC_ACQUIRE))
		return; /* another thread is at it, or the one that this signal handler interrupts */
	if (read_stat(path, &t)) {
		if (heard && t.ns + 1 > heard)
			__atomic_store_n(&grew_at_ns, now, __ATOMIC_RELAXED);
		__atomic_store_n(&heard_ns, t.ns + 1, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&asked_at_ns, now, __ATOMIC_RELAXED);
	__atomic_store_n(&asking, false, __ATOMIC_RELEASE);
}

uint32_t throttled_account(bool switched_out)
{
	const char *path = __atomic_load_n(&stat_path, __ATOMIC_ACQUIRE);
	uint64_t now, grew, heard;

	if (!path)
		return 0;
	now = clock_mono_ns();
	grew = __atomic_load_n(&grew_at_ns, __ATOMIC_RELAXED);
	if (switched_out || !__atomic_load_n(&heard_ns, __ATOMIC_RELAXED) ||
	    (grew && now - grew < MOMENT_NS && now - __atomic_load_n(&asked_at_ns, __ATOMIC_RELAXED) > SELDOM_NS))
		ask(path, now);
	heard = __atomic_load_n(&heard_ns, __ATOMIC_RELAXED);
	return heard ? (uint32_t)((heard - 1) / 1000 + 1) : 0;
}

void throttled_forget(void)
{
	found_ns = heard_ns = grew_at_ns = asked_at_ns = 0;
	stat_path = NULL;
	asking = false;
}
