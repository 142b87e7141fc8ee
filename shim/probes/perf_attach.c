/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf_attach.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 10

/* 0, or why it is not followed: it may have ended, or be another's, but for the root. */
static int attach_to(struct perf_rings *rings, uint32_t root, const struct proc_task *id, struct perf_tasks *others)
{
	int rc = perf_rings_attach(rings, (pid_t)id->tid);

	if (rc == ESRCH || (rc == EACCES && id->pid != root && perf_tasks_add(others, id)))
		return 0;
	return rc;
}

static void say_why(uint32_t root, size_t attached, int error, char why[256])
{
	if (error == EMFILE || error == ENFILE)
		snprintf(
			why, 256,
			"%zu tasks on each CPU need more file descriptors than there are: raise ulimit -n, or follow it from its begin",
			attached);
	else if (attached)
		snprintf(why, 256, "perf_event_open of another's task: %s", strerror(error));
	else
		snprintf(why, 256, "process %u has ended", root);
}

/* Whoever is made while the others are attached to may have inherited less than all: it is attached to as well, and its switches may be told
 * twice, which does no harm. */
bool perf_attach(struct perf_rings *rings, struct gst_probes *probes, struct proc_tasks *tree,
		 struct perf_tasks *others, char why[256])
{
	struct perf_tasks seen = { 0 };
	int error = 0;
	bool good;

	for (int round = 0; round < ROUNDS; round++) {
		size_t before = seen.n;
		proc_tasks_tree(tree, probes->root);
		for (size_t i = 0; i < tree->n; i++) {
			if (perf_tasks_find(&seen, tree->at[i].tid) || !perf_tasks_add(&seen, &tree->at[i]))
				continue;
			int rc = attach_to(rings, probes->root, &tree->at[i], others);
			if (rc) {
				probes->tasks_lost++;
				error = rc;
			}
		}
		if (seen.n == before)
			break;
	}
	/* A tree of which some are not followed would be told of as if they computed. */
	good = seen.n && !probes->tasks_lost;
	if (!good)
		say_why(probes->root, seen.n, error, why);
	perf_tasks_free(&seen);
	return good;
}
