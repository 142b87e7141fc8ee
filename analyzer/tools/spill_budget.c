/* SPDX-License-Identifier: BSD-2-Clause */
#include "spill_budget.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#define SHARE(bytes) ((bytes) / 3 * 2) /* of what is available */
#define MB ((uint64_t)1 << 20)
#define LEAST (64 * MB)

/* ---- control groups ---- */

/* The number in a file of the kernel's; otherwise where it says none ("max"), or is not there. */
static uint64_t number_in(const char *path, uint64_t otherwise)
{
	FILE *f = fopen(path, "re");
	unsigned long long n;
	bool got = f && fscanf(f, "%llu", &n) == 1;

	if (f)
		fclose(f);
	return got ? n : otherwise;
}

static uint64_t room_in(const char *folder, const char *limit, const char *used)
{
	char path[PATH_MAX];
	uint64_t most, now;

	if (snprintf(path, sizeof(path), "%s/%s", folder, limit) >= (int)sizeof(path))
		return UINT64_MAX;
	most = number_in(path, UINT64_MAX);
	if (most >= INT64_MAX / 2) /* version 1 writes a large number for none */
		return UINT64_MAX;
	if (snprintf(path, sizeof(path), "%s/%s", folder, used) >= (int)sizeof(path))
		return UINT64_MAX;
	now = number_in(path, 0);
	return most > now ? most - now : 0;
}

/* In the group and all above it: the least. */
static uint64_t room_up(const char *root, const char *group, const char *limit, const char *used)
{
	char folder[PATH_MAX];
	size_t top = strlen(root);
	uint64_t least = UINT64_MAX, room;
	char *end;

	if (snprintf(folder, sizeof(folder), "%s%s", root, group) >= (int)sizeof(folder))
		return least;
	for (;;) {
		room = room_in(folder, limit, used);
		least = room < least ? room : least;
		end = strrchr(folder, '/');
		if (!end || (size_t)(end - folder) < top)
			return least;
		*end = '\0';
	}
}

/* A line is "0::/group" of version 2, "4:memory:/group" of version 1. */
uint64_t spill_group_room(const char *root, const char *groups)
{
	uint64_t least = UINT64_MAX, room;
	char line[PATH_MAX], folder[PATH_MAX];

	for (const char *at = groups; *at;) {
		size_t n = strcspn(at, "\n");
		char *list, *group;

		snprintf(line, sizeof(line), "%.*s", (int)(n < sizeof(line) ? n : 0), at);
		at += n + (at[n] == '\n');
		list = strchr(line, ':');
		group = list ? strchr(list + 1, ':') : NULL;
		if (!group)
			continue;
		*group++ = '\0';
		if (list[1] == '\0') {
			room = room_up(root, group, "memory.max", "memory.current");
		} else if (strcmp(list + 1, "memory") == 0) {
			snprintf(folder, sizeof(folder), "%s/memory", root);
			room = room_up(folder, group, "memory.limit_in_bytes", "memory.usage_in_bytes");
		} else {
			continue;
		}
		least = room < least ? room : least;
	}
	return least;
}

/* ---- the machine ---- */

static uint64_t available(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128];
	unsigned long long kb = 0;
	struct sysinfo info;

	while (f && !kb && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %llu kB", &kb) != 1)
			kb = 0;
	if (f)
		fclose(f);
	if (kb)
		return kb * 1024;
	return sysinfo(&info) == 0 ? (uint64_t)info.freeram * info.mem_unit : UINT64_MAX;
}

static uint64_t group_room(void)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char text[8192];
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = '\0';
	return spill_group_room("/sys/fs/cgroup", text);
}

static uint64_t budget;

static void set_budget(void)
{
	const char *said = getenv("GPUSHIM_MEMORY_MB");
	bool number = said && *said >= '0' && *said <= '9';
	unsigned long long mb = number ? strtoull(said, NULL, 10) : 0;
	uint64_t machine = available(), group = group_room(), least = machine < group ? machine : group;

	budget = SHARE(least) > LEAST ? SHARE(least) : LEAST;
	if (number)
		budget = mb < UINT64_MAX / MB ? mb * MB : UINT64_MAX;
}

uint64_t spill_budget(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, set_budget);
	return budget;
}
