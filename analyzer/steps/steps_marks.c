/* SPDX-License-Identifier: BSD-2-Clause */
#include "steps_marks.h"

#include <stdlib.h>

#include "tools/alloc.h"

bool marks_count(struct step_marks *out, const struct step_tokens *s, size_t from, size_t until)
{
	*out = (struct step_marks){ from, array_new(until - from, sizeof(*out->before)) };
	if (!out->before)
		return false;
	for (size_t i = from; i + 1 < until; i++) {
		uint8_t kind = s->about[s->ids[i]].kind;
		uint32_t n = kind == TOKEN_H2D || kind == TOKEN_D2H;

		for (size_t k = s->calls[i]; k < s->calls[i + 1]; k++)
			n += call_waits(&s->trace->calls[k]);
		out->before[i + 1 - from] = out->before[i - from] + n;
	}
	return true;
}

void marks_free(struct step_marks *m)
{
	free(m->before);
	*m = (struct step_marks){ 0 };
}
