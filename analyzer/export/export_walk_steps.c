/* SPDX-License-Identifier: BSD-2-Clause */
/* export_walk_steps.c: the steps that a process's launches tell, on a track of their own; those of ranges are there as ranges. They are
 * not called ProfilerStep#: of a trace with such names HolisticTraceAnalysis leaves out all that comes after the last one's begin. */
#include "export_walk.h"
#include "steps/phases.h"

void launch_steps(struct walk *w, size_t process)
{
	const struct trace *t = w->s->run->traces[process];
	const struct trace_steps *s = steps_of(&w->s->steps, t);

	for (size_t i = 0; s && !s->like && i < s->n && !w->failed; i++) {
		int64_t begin = s->at[i].begin_ns, end = s->at[i].end_ns;
		char name[64];
		uint32_t tid;

		if (!wanted(w, begin, end)) {
			w->left_out++;
			continue;
		}
		tid = place(w, s, 0, w->trace_pid[process], TID_STEPS, "steps, by launches", false, &begin, &end);
		if (w->failed)
			return;
		slice_begin(w, "user_annotation", step_name(name, sizeof(name), &s->at[i]), w->trace_pid[process], tid,
			    begin, end);
		arg_text(w, "by", "launches");
		arg_place(w, t, s->at[i].launch->byte);
		slice_end(w);
	}
}
