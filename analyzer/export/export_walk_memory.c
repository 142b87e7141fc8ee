/* SPDX-License-Identifier: BSD-2-Clause */
/* export_walk_memory.c: a counter for each device: bytes that are allocated, and those that are reserved and free. */
#include "export_walk.h"

static void point(struct walk *w, uint32_t pid, const struct memory_point *p)
{
	static const char *const keys[] = { "allocated", "reserved and free" };
	const int64_t values[] = { (int64_t)(p->use.allocated & INT64_MAX),
				   (int64_t)((p->use.reserved - p->use.allocated) & INT64_MAX) };

	w->sink->bytes(w->to, pid, "memory", since_zero(w, p->time_ns), keys, values, 2);
}

void device_memory(struct walk *w, size_t device)
{
	const struct memory_device *d = w->s->devices[device].memory;

	for (size_t i = 0; d && i < d->n_points; i++) {
		const struct memory_point *p = &d->points[i];
		int64_t end_ns = i + 1 < d->n_points ? d->points[i + 1].time_ns : p->time_ns;

		if (since_zero(w, p->time_ns) >= 0 && wanted(w, p->time_ns, end_ns))
			point(w, w->device_pid[device], p);
	}
}
