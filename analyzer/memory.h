/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.h: device memory over time, from the driver's allocation calls. */
#pragma once

#include "trace.h"

/* Every change of the bytes in use, in time order within a process after memory_sort. */
struct memory_change {
	int64_t time_ns;
	int64_t bytes; /* negative: given back */
	uint16_t device;
};

struct memory_changes {
	struct memory_change *at;
	size_t n, cap;
};

/* Adds those of one process. A free is matched with the allocation of the same pointer before it; one without is left out. */
enum err_kind memory_add(struct memory_changes *out, const struct trace *t, struct error *e);
void memory_sort(struct memory_changes *m);
void memory_free(struct memory_changes *m);

/* An allocation that the driver refused for want of memory. */
bool memory_refused(const struct call *c);
