/* SPDX-License-Identifier: BSD-2-Clause */
#include "pressure.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cgroup_cpu.h"
#include "../proc_text.h"

#define EVERY_NS 100000000u
#define GROUP_EVERY_NS 2000000000u /* a quota may be set at any time */
#define MOVED_EVERY_NS 20000000u   /* … and the root put into another group, as it is when it has just begun */
#define HISTORY 256u

enum { CPU, MEMORY, IO, KINDS };

struct totals {
	uint64_t some[KINDS], full[KINDS]; /* microseconds; UINT64_MAX not known */
};

struct moment {
	uint64_t at;
	struct cgroup_throttled throttled; /* so far */
};

struct pressure {
	uint32_t root;
	int fd[KINDS]; /* -1: no such file */
	struct cgroup_cpu group;
	bool group_known;
	uint64_t written_ns, group_ns, moved_ns;
	uint32_t groups; /* hash of the list of the root's */
	struct totals before;
	struct cgroup_throttled group_before;
	struct moment history[HISTORY]; /* of rounds, n of them so far */
	uint64_t n;
};

static uint64_t total_of(const char *text, const char *kind)
{
	uint64_t value;
	const char *line, *at;

	for (line = text; *line; line = proc_text_next_line(line))
		if (!strncmp(line, kind, 4) && (at = strstr(line, "total="))) {
			at += 6;
			return proc_text_number(&at, 10, &value) ? value : UINT64_MAX;
		}
	return UINT64_MAX;
}

static void read_totals(const struct pressure *p, struct totals *t)
{
	char text[256];

	for (int kind = 0; kind < KINDS; kind++) {
		t->some[kind] = t->full[kind] = UINT64_MAX;
		if (p->fd[kind] < 0 || proc_text_again(p->fd[kind], text, sizeof(text)) <= 0)
			continue;
		t->some[kind] = total_of(text, "some");
		t->full[kind] = total_of(text, "full");
	}
}

static bool has_quota(const struct pressure *p)
{
	return p->group_known && p->group.quota;
}

static void remember(struct pressure *p)
{
	struct moment m = { .at = mono_ns() };

	if (has_quota(p) && cgroup_cpu_read(&p->group, &m.throttled))
		p->history[p->n++ % HISTORY] = m;
}

static uint32_t groups_of(uint32_t root)
{
	char text[8192];
	ssize_t n = proc_text_read(text, sizeof(text), "/proc/%u/cgroup", root);
	uint32_t hash = 2166136261u;

	for (ssize_t i = 0; i < n; i++)
		hash = (hash ^ (uint8_t)text[i]) * 16777619u;
	return hash;
}

static bool has_moved(struct pressure *p, uint64_t now)
{
	uint32_t before = p->groups;

	if (now - p->moved_ns < MOVED_EVERY_NS)
		return false;
	p->moved_ns = now;
	p->groups = groups_of(p->root);
	return p->groups != before;
}

static void find_group(struct pressure *p)
{
	char before[PATH_MAX];

	memcpy(before, p->group.dir, sizeof(before));
	p->group_known = cgroup_cpu_find(&p->group, p->root);
	p->group_ns = mono_ns();
	if (strcmp(before, p->group.dir) != 0) {
		p->n = 0; /* another group's times are no continuation */
		cgroup_cpu_read(&p->group, &p->group_before);
		remember(p);
	}
}

struct pressure *pressure_new(uint32_t root)
{
	static const char *const path[KINDS] = { "/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io" };
	struct pressure *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->root = root;
	for (int kind = 0; kind < KINDS; kind++)
		p->fd[kind] = open(path[kind], O_RDONLY | O_CLOEXEC);
	read_totals(p, &p->before);
	find_group(p);
	p->written_ns = mono_ns();
	return p;
}

void pressure_free(struct pressure *p)
{
	if (!p)
		return;
	for (int kind = 0; kind < KINDS; kind++)
		if (p->fd[kind] >= 0)
			close(p->fd[kind]);
	free(p);
}

bool pressure_is_known(const struct pressure *p)
{
	return p->group_known || p->before.some[CPU] != UINT64_MAX || p->before.some[IO] != UINT64_MAX;
}

bool pressure_group_is_known(const struct pressure *p)
{
	return p->group_known;
}

static uint32_t grown(uint64_t before, uint64_t now)
{
	return before == UINT64_MAX || now == UINT64_MAX ? UINT32_MAX : now < before ? 0 : (uint32_t)(now - before);
}

static void write_record(struct pressure *p, struct host_file *f, uint64_t now)
{
	struct cgroup_throttled group;
	struct totals t;
	struct gst_pressure r = {
		.begin = p->written_ns, .end = now, .throttled_us = UINT32_MAX, .throttled_periods = UINT32_MAX
	};

	read_totals(p, &t);
	r.cpu_some_us = grown(p->before.some[CPU], t.some[CPU]);
	r.memory_some_us = grown(p->before.some[MEMORY], t.some[MEMORY]);
	r.memory_full_us = grown(p->before.full[MEMORY], t.full[MEMORY]);
	r.io_some_us = grown(p->before.some[IO], t.some[IO]);
	r.io_full_us = grown(p->before.full[IO], t.full[IO]);
	if (p->group_known && cgroup_cpu_read(&p->group, &group)) {
		r.throttled_us = grown(p->group_before.ns / 1000, group.ns / 1000);
		r.throttled_periods = grown(p->group_before.periods, group.periods);
		p->group_before = group;
	}
	host_file_append(f, GST_PRESSURE, sizeof(r), &r);
	p->before = t;
	p->written_ns = now;
}

void pressure_tick(struct pressure *p, struct host_file *f)
{
	uint64_t now = mono_ns();

	remember(p);
	if (has_moved(p, now) || now - p->group_ns >= GROUP_EVERY_NS)
		find_group(p);
	if (now - p->written_ns >= EVERY_NS)
		write_record(p, f, now);
}

/* The kernel adds to its account when a throttling ends. So what is at the first moment after end, and was not yet at the last one before
 * begin, happened in between. */
uint64_t pressure_throttled(struct pressure *p, uint64_t begin, uint64_t end)
{
	uint64_t first, before = UINT64_MAX, after = 0, most = end - begin, sum;

	if (!has_quota(p) || end <= begin)
		return 0;
	if (!p->n || p->history[(p->n - 1) % HISTORY].at < end)
		remember(p);
	first = p->n > HISTORY ? p->n - HISTORY : 0;
	for (uint64_t i = first; i < p->n; i++) {
		const struct moment *m = &p->history[i % HISTORY];
		if (m->at <= begin)
			before = m->throttled.ns;
		after = m->throttled.ns;
		if (m->at >= end)
			break;
	}
	if (before == UINT64_MAX)
		return 0; /* longer ago than we remember */
	sum = after - before;
	return sum < most ? sum : most;
}
