/* SPDX-License-Identifier: BSD-2-Clause */
/* export_walk_calls.c: each thread's driver calls; those that gave a device work have an arrow to it. */
#include <stdio.h>

#include "export_walk.h"

static bool submitted(const struct call *c)
{
	return (c->flags & GST_SUBMISSION) && !(c->flags & GST_CAPTURED) && !c->result;
}

static void call(struct walk *w, size_t process, size_t index)
{
	const struct trace *t = w->s->run->traces[process];
	const struct call *c = &t->calls[index];
	int64_t begin = c->begin_ns, end = c->end_ns;
	uint64_t correlation = w->first_correlation[process] + index;
	bool flow = w->calls[process][index] & CALL_WANTED;
	char name[32];
	uint32_t tid;

	snprintf(name, sizeof(name), "thread %u", c->tid);
	tid = place(w, t, c->tid, w->trace_pid[process], c->tid, name, true, &begin, &end);
	if (w->failed)
		return;
	slice_begin_flow(w, "cuda_driver", call_name(t, c), w->trace_pid[process], tid, begin, end,
			 flow ? FLOW_FROM : FLOW_NONE, correlation);
	if (flow)
		arg_link(w, "correlation", (int64_t)correlation);
	else if (submitted(c))
		arg_int(w, "correlation", (int64_t)correlation);
	if (c->result)
		arg_int(w, "result", c->result);
	/* What an arrow leads to has the kernel's name; of launches there are too many for what can be found there. */
	if (!flow && c->name && c->name < t->n_kernels)
		arg_text(w, "kernel", kernel_title(t, c->name));
	if (!flow)
		arg_place(w, t, c->byte);
	slice_end(w);
}

void driver_calls(struct walk *w, size_t process)
{
	const struct trace *t = w->s->run->traces[process];

	for (size_t i = 0; i < t->n_calls && !w->failed; i++) {
		if (w->calls[process][i] & CALL_WANTED || wanted(w, t->calls[i].begin_ns, t->calls[i].end_ns))
			call(w, process, i);
		else
			w->left_out++;
	}
}
