/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace_rare.h"

#include <stdlib.h>

void trace_rare_begin(struct trace *t)
{
	free(t->rare);
	t->rare = calloc(t->n_calls / 64 + 1, sizeof(*t->rare));
}

void trace_rare_mark(struct trace *t)
{
	trace_rare_begin(t);
	for (size_t i = 0; t->rare && i < t->n_calls; i++)
		trace_rare_note(t, i);
}
