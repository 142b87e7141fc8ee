/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_rights.h: whose tasks are followed. With CAP_PERFMON the kernel lets us follow anybody's; our file may lend it to whoever calls us,
 * for tasks of their own: of another's, and of those that have another's rights, nothing is for them to see, as /proc and ptrace have it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_rights {
	uint32_t lowered[2]; /* capabilities that were taken out of the effective ones */
};

/* From here on the kernel asks whether we may look at the task. Nothing for root. False: nothing was there to be lowered. */
bool perf_rights_lower(struct perf_rights *r);
void perf_rights_restore(const struct perf_rights *r);
/* May we look at the task, by /proc? Root is not asked. */
bool perf_rights_may_look(pid_t tid);
