/* SPDX-License-Identifier: BSD-2-Clause */
/* export_chrome_steps.c: the steps that a process's launches tell, on a track of their own; those of ranges are there as ranges. They are
 * not called ProfilerStep#: of a trace with such names HolisticTraceAnalysis leaves out all that comes after the last one's begin. */
#include "export_chrome_event.h"
#include "phases.h"

void launch_steps(struct chrome *x, size_t process)
{
	const struct trace *t = x->s->run->traces[process];
	const struct trace_steps *s = steps_of(&x->s->steps, t);

	for (size_t i = 0; s && !s->like && i < s->n && !x->failed; i++) {
		int64_t begin = s->at[i].begin_ns, end = s->at[i].end_ns;
		char name[64];
		uint32_t tid;

		if (!wanted(x, begin, end)) {
			x->left_out++;
			continue;
		}
		tid = place(x, s, 0, x->trace_pid[process], TID_STEPS, "steps, by launches", false, &begin, &end);
		if (x->failed)
			return;
		slice_begin(x, "user_annotation", step_name(name, sizeof(name), &s->at[i]), x->trace_pid[process], tid,
			    begin, end);
		json_key_text(&x->json, "by", "launches");
		json_key_int(&x->json, "byte", (int64_t)s->at[i].launch->byte);
		slice_end(x);
	}
}
