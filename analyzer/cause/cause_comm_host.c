/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was inside a call that makes, ends or registers with a communicator, or in another NCCL call for much longer than it takes to put
 * work into a stream. */
#include "cause_rules.h"

#include <stdio.h>

#include "import/import.h"
#include "tools/ns.h"
#include "tools/text.h"

static void propose(const struct gap_view *v, struct findings *out, const struct nccl_call *c)
{
	const char *hook = v->trace->nccl_hooks[c->hook];
	char name[64], file[96], took[TEXT_SHORT], place[PLACE_TEXT];
	struct finding *f = findings_add(out, CAUSE_comm_host, CONFIDENCE_OBSERVED, c->begin_ns,
					 min64(c->end_ns, v->submit_begin_ns));

	text_clean(name, sizeof(name), hook ? hook : "an NCCL call", 48);
	chain_submitter_in(f, v, "in ", name);
	snprintf(f->words->evidence, sizeof(f->words->evidence), "%s took %s (%s %s)", name,
		 text_duration(took, c->end_ns - c->begin_ns),
		 text_clean(file, sizeof(file), text_base(v->trace->path ? v->trace->path : "trace"), 64),
		 import_place_text(place, sizeof(place), v->trace, c->byte));
}

void cause_comm_host(const struct gap_view *v, struct findings *out)
{
	const struct nccl_call *c;

	for (int64_t at = v->gap->begin_ns; (c = gap_view_comm(v, at, v->gap->end_ns)); at = c->end_ns)
		propose(v, out, c);
}
