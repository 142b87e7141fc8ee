/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf_rights.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../proc_text.h"

/* Either is enough for perf_event_open(2). */
#define FOR_ALL (1ull << CAP_PERFMON | 1ull << CAP_SYS_ADMIN)

static bool get(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, data) == 0;
}

static bool set(const struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &header, data) == 0;
}

bool perf_rights_lower(struct perf_rights *r)
{
	struct __user_cap_data_struct data[2];

	*r = (struct perf_rights){ 0 };
	if (geteuid() == 0 || !get(data))
		return false;
	for (int i = 0; i < 2; i++) {
		r->lowered[i] = data[i].effective & (uint32_t)(FOR_ALL >> 32 * i);
		data[i].effective &= ~r->lowered[i];
	}
	if ((r->lowered[0] || r->lowered[1]) && set(data))
		return true;
	*r = (struct perf_rights){ 0 };
	return false;
}

void perf_rights_restore(const struct perf_rights *r)
{
	struct __user_cap_data_struct data[2];

	if ((!r->lowered[0] && !r->lowered[1]) || !get(data))
		return;
	for (int i = 0; i < 2; i++)
		data[i].effective |= r->lowered[i];
	set(data);
}

bool perf_rights_may_look(pid_t tid)
{
	char text[64];

	return geteuid() == 0 || proc_text_link(text, sizeof(text), "/proc/%d/ns/pid", (int)tid);
}
