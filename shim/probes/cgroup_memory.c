/* SPDX-License-Identifier: BSD-2-Clause */
#include "cgroup_memory.h"

#include <string.h>

#include "../cgroup.h"
#include "../proc_text.h"

/* Where there is none it says "max", or (version 1) a number beyond all memory. */
static uint64_t own_limit(const char *dir, bool old)
{
	char text[64];
	const char *at = text;
	uint64_t bytes;

	if (proc_text_read(text, sizeof(text), "%s/%s", dir, old ? "memory.limit_in_bytes" : "memory.max") <= 0 ||
	    !proc_text_number(&at, 10, &bytes))
		return UINT64_MAX;
	return bytes;
}

uint64_t cgroup_memory_limit(uint32_t pid)
{
	char dir[PATH_MAX];
	uint64_t least = UINT64_MAX;
	bool old;
	size_t top;

	if (!cgroup_find(dir, "memory", pid, &top, &old))
		return least;
	for (;;) {
		uint64_t bytes = own_limit(dir, old);
		char *slash = strrchr(dir, '/');

		least = bytes < least ? bytes : least;
		if (!slash || (size_t)(slash - dir) < top)
			return least;
		*slash = 0;
	}
}
