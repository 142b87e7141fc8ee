/* SPDX-License-Identifier: BSD-2-Clause */
#include "cause_chain_pressure.h"

#include <stdio.h>

#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/text.h"

struct pressure_sum {
	int64_t ns;       /* of the periods that have this figure */
	uint64_t us;      /* that it says */
	uint64_t periods; /* of the quota */
};

static uint32_t figure(const struct host_pressure *p, enum pressure of)
{
	switch (of) {
	case PRESSURE_CPU:
		return p->cpu_some_us;
	case PRESSURE_MEMORY:
		return p->memory_some_us;
	case PRESSURE_IO:
		return p->io_some_us;
	case PRESSURE_QUOTA:
		return p->throttled_us;
	}
	return UINT32_MAX;
}

static bool ended_by(const void *element, const void *key)
{
	return ((const struct host_pressure *)element)->end_ns <= *(const int64_t *)key;
}

/* Periods are disjoint and in order: those that meet [begin, end). */
static struct pressure_sum sum_up(const struct host_trace *h, enum pressure of, int64_t begin_ns, int64_t end_ns)
{
	struct pressure_sum sum = { 0 };

	if (!h)
		return sum;
	for (size_t i = array_first(h->pressure, h->n_pressure, sizeof(*h->pressure), ended_by, &begin_ns);
	     i < h->n_pressure && h->pressure[i].begin_ns < end_ns; i++) {
		const struct host_pressure *p = &h->pressure[i];

		if (figure(p, of) == UINT32_MAX)
			continue;
		sum.ns = sum64(sum.ns, p->end_ns - p->begin_ns);
		sum.us += figure(p, of);
		if (p->throttled_periods != UINT32_MAX)
			sum.periods += p->throttled_periods;
	}
	return sum;
}

bool memory_was_short(const struct host_trace *h, const struct host_task *task, int64_t begin_ns, int64_t end_ns)
{
	struct pressure_sum sum = sum_up(h, PRESSURE_MEMORY, begin_ns, end_ns);
	size_t reclaim = task ? host_reclaim_after(task, begin_ns) : 0;

	if (task && reclaim < task->n_reclaims && task->reclaims[reclaim].begin_ns < end_ns)
		return true;
	return sum.ns > 0 && (double)sum.us * 1000 * 100 >= (double)sum.ns;
}

void pressure_words(char *buf, size_t size, const struct host_trace *h, enum pressure of, int64_t begin_ns,
		    int64_t end_ns)
{
	static const char *const what[] = {
		[PRESSURE_CPU] = "for a CPU", [PRESSURE_MEMORY] = "for memory", [PRESSURE_IO] = "for I/O"
	};
	struct pressure_sum sum = sum_up(h, of, begin_ns, end_ns);
	char us[TEXT_SHORT], whole[TEXT_SHORT];

	*buf = 0;
	if (!sum.ns || !sum.us)
		return;
	text_duration(us, (int64_t)(sum.us < INT64_MAX / 1000 ? sum.us * 1000 : INT64_MAX));
	text_duration(whole, sum.ns);
	if (of == PRESSURE_QUOTA)
		snprintf(
			buf, size,
			"cpu.stat: the control group was throttled in %llu periods, its CPUs for %s together, within %s",
			(unsigned long long)sum.periods, us, whole);
	else
		snprintf(buf, size, "PSI: some task of this machine waited %s for %s of %s", what[of], us, whole);
}
