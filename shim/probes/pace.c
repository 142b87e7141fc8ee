/* SPDX-License-Identifier: BSD-2-Clause */
#include "pace.h"

#include "../short_slices.h"
#include "../proc_text.h"

#define RECKON_NS 200000000u /* the kernel's account of CPU time is no finer than a tick, in places */

void pace_begin(struct pace *p, uint32_t least_ms, uint32_t most_ms, uint32_t share)
{
	short_slices();
	*p = (struct pace){ thread_cpu_ns(), mono_ns(), least_ms, least_ms, most_ms, share };
}

uint32_t pace_next(struct pace *p)
{
	uint64_t now = mono_ns(), cpu, used, ms;

	if (now - p->wall_ns < RECKON_NS)
		return p->ms;
	cpu = thread_cpu_ns();
	used = (cpu - p->cpu_ns) * p->share;
	/* What a round costs is the same whatever the rest: the period that makes it that share is this one by the share that was used. */
	ms = (p->ms * used + (now - p->wall_ns) - 1) / (now - p->wall_ns);
	ms = ms > 2u * p->ms ? 2u * p->ms : ms < p->ms / 2u ? p->ms / 2u : ms;
	p->ms = ms < p->least_ms ? p->least_ms : ms > p->most_ms ? p->most_ms : (uint32_t)ms;
	p->cpu_ns = cpu;
	p->wall_ns = now;
	return p->ms;
}
