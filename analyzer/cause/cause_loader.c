/* SPDX-License-Identifier: BSD-2-Clause */
#include "cause_loader.h"

void loader_findings(const struct gap_view *v, struct findings *out, enum cause_id cause, enum at_what what,
		     const char *state)
{
	for (size_t i = 0; i < v->n_stretches; i++) {
		const struct stretch *s = &v->stretches[i];
		struct finding *f;

		if (s->what != what)
			continue;
		f = findings_add(out, cause, CONFIDENCE_INFERRED, s->begin_ns, s->end_ns);
		chain_submitter(f, v, "%s", state);
		evidence_loader(f->words->evidence, sizeof(f->words->evidence), v, s);
	}
}
