/* SPDX-License-Identifier: BSD-2-Clause */
#include "cgroup_cpu.h"

#include <string.h>

#include "cgroup.h"
#include "proc_text.h"

static bool has_quota(const char *dir, bool old)
{
	char text[64];

	if (old)
		return proc_text_read(text, sizeof(text), "%s/cpu.cfs_quota_us", dir) > 0 && *text != '-';
	return proc_text_read(text, sizeof(text), "%s/cpu.max", dir) > 0 && strncmp(text, "max", 3) != 0;
}

/* From its own group upwards, to the first with a quota. */
static void choose(struct cgroup_cpu *g, size_t top, bool old)
{
	char own[PATH_MAX];

	memcpy(own, g->dir, sizeof(own));
	for (;;) {
		char *slash = strrchr(g->dir, '/');
		if (has_quota(g->dir, old)) {
			g->quota = true;
			return;
		}
		if (!slash || (size_t)(slash - g->dir) < top)
			break;
		*slash = 0;
	}
	memcpy(g->dir, own, sizeof(own));
}

bool cgroup_cpu_find(struct cgroup_cpu *g, uint32_t pid)
{
	struct cgroup_throttled t;
	bool old = false;
	size_t top;

	*g = (struct cgroup_cpu){ .quota = false };
	if (!cgroup_find(g->dir, "cpu", pid, &top, &old))
		return false;
	choose(g, top, old);
	if (cgroup_cpu_read(g, &t))
		return true;
	*g = (struct cgroup_cpu){ .quota = false };
	return false;
}

bool cgroup_cpu_read(const struct cgroup_cpu *g, struct cgroup_throttled *t)
{
	char text[1024];

	*t = (struct cgroup_throttled){ 0, 0 };
	return *g->dir && proc_text_read(text, sizeof(text), "%s/cpu.stat", g->dir) > 0 && cgroup_cpu_parse(text, t);
}

bool cgroup_cpu_parse(const char *text, struct cgroup_throttled *t)
{
	*t = (struct cgroup_throttled){ 0, 0 };
	if (proc_text_field(text, "throttled_usec ", 10, &t->ns))
		t->ns *= 1000;
	else if (!proc_text_field(text, "throttled_time ", 10, &t->ns))
		return false; /* a root group has none */
	return proc_text_field(text, "nr_throttled ", 10, &t->periods);
}
