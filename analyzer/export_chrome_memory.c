/* SPDX-License-Identifier: BSD-2-Clause */
/* export_chrome_memory.c: a counter track for each device: bytes that are allocated, and those that are reserved and free. */
#include "export_chrome_event.h"

static void point(struct chrome *x, uint32_t pid, const struct memory_point *p)
{
	counter_begin(x, "memory", pid, p->time_ns);
	json_key_int(&x->json, "allocated", (int64_t)(p->use.allocated & INT64_MAX));
	json_key_int(&x->json, "reserved and free", (int64_t)((p->use.reserved - p->use.allocated) & INT64_MAX));
	slice_end(x);
}

void device_memory(struct chrome *x, size_t device)
{
	const struct memory_device *d = x->s->devices[device].memory;

	for (size_t i = 0; d && i < d->n_points; i++) {
		const struct memory_point *p = &d->points[i];
		int64_t end_ns = i + 1 < d->n_points ? d->points[i + 1].time_ns : p->time_ns;

		if (since_zero(x, p->time_ns) >= 0 && wanted(x, p->time_ns, end_ns))
			point(x, x->device_pid[device], p);
	}
}
