/* SPDX-License-Identifier: BSD-2-Clause */
#include "self.h"

#include "trace/trace.h"

void self_add(struct self_cost *sum, const struct trace *t)
{
	const struct gst_counters *c = &t->counters;

	if (c->own_timed) {
		sum->calls += c->own_calls;
		sum->timed += c->own_timed;
		sum->calls_ns += (double)c->own_ticks * t->ns_per_tick;
	} else {
		uint64_t calls = t->n_calls + t->launches.folded + c->calls_recycled;

		sum->calls += calls;
		sum->calls_ns += (double)calls * t->header.call_cost_ps / 1e3;
	}
	sum->injected_ns += (double)c->injected_ticks * t->ns_per_tick;
	sum->attach_ns += (double)c->attach_ns;
	sum->cpu_ns += (double)c->own_cpu_ns;
	sum->wall_ns += (double)(t->end_ns - t->begin_ns);
}

double self_ns_per_call(const struct self_cost *s)
{
	return s->calls ? s->calls_ns / (double)s->calls : 0;
}

double self_share(const struct self_cost *s, bool with_own_threads)
{
	double ns = s->calls_ns + s->injected_ns + s->attach_ns + (with_own_threads ? s->cpu_ns : 0);

	if (s->wall_ns <= 0)
		return 0;
	return ns < s->wall_ns ? ns / s->wall_ns : 1; /* more: a damaged counter */
}

int64_t self_whole_ns(double ns)
{
	return ns >= 9e18 ? (int64_t)9e18 : ns > 0 ? (int64_t)ns : 0;
}
