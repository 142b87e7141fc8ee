/* SPDX-License-Identifier: BSD-2-Clause */
#include "findings.h"

#include <stdlib.h>

#include "alloc.h"

struct finding *findings_add(struct findings *list, enum cause_id cause, enum confidence confidence, int64_t begin_ns,
			     int64_t end_ns)
{
	static _Thread_local struct finding scratch;
	struct finding *f = &scratch;

	if (array_room(list->at, list->n, list->cap))
		f = &list->at[list->n++];
	else
		list->failed = true;
	*f = (struct finding){ .begin_ns = begin_ns, .end_ns = end_ns, .cause = cause, .confidence = confidence };
	return f;
}

void findings_free(struct findings *list)
{
	free(list->at);
	*list = (struct findings){ 0 };
}
