/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was inside an allocation or a free. */
#include "cause_rules.h"

#include <stdio.h>
#include <string.h>

#include "memory/memory.h"
#include "tools/text.h"

/* What the framework did about a refusal, and what of its memory lay free then. */
static void add_memory(char *buf, size_t size, const struct gap_view *v, const struct call *c)
{
	const struct memory_device *d = v->memory ? memory_of(v->memory, v->device->trace, &v->device->device) : NULL;
	const struct memory_story *s = d ? memory_story_of(v->memory, v->trace, c) : NULL;
	struct memory_use use = d ? memory_at(d, c->begin_ns) : (struct memory_use){ 0 };
	uint64_t left = use.reserved - use.allocated;
	char bytes[TEXT_SHORT], largest[TEXT_SHORT];
	size_t used = strlen(buf);

	if (s && s->block)
		used += (size_t)snprintf(buf + used, size - used, "; the framework was refused %s, gave back %s and %s",
					 text_bytes(bytes, s->first ? s->first->args[1] : s->asked),
					 text_bytes(largest, s->given_back),
					 s->outcome == MEMORY_FAILED ? "gave up" : "tried again");
	if (left && used < size && d->framework.told) /* how it lies is not on record */
		snprintf(buf + used, size - used, "; %s reserved and free", text_bytes(bytes, left));
	else if (left && used < size)
		snprintf(buf + used, size - used, "; %s reserved and free, largest piece %s, fragmentation %.2f",
			 text_bytes(bytes, left), text_bytes(largest, use.largest_free), memory_fragmentation(&use));
}

void cause_allocator(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_calls; i++) {
		const struct call *c = v->calls[i];
		struct finding *f;
		char bytes[TEXT_SHORT];
		size_t used;

		if (!memory_asks(c) || c->end_ns <= v->gap->begin_ns)
			continue;
		f = findings_add(out, CAUSE_allocator, CONFIDENCE_OBSERVED, c->begin_ns, c->end_ns);
		chain_submitter_in(f, v, "in ", call_name(v->trace, c));
		evidence_call(f->words->evidence, sizeof(f->words->evidence), v->trace, c);
		used = strlen(f->words->evidence);
		if (c->args[1])
			snprintf(f->words->evidence + used, sizeof(f->words->evidence) - used, ", %s",
				 text_bytes(bytes, c->args[1]));
		used = strlen(f->words->evidence);
		if (c->result)
			snprintf(f->words->evidence + used, sizeof(f->words->evidence) - used, ", result %d",
				 c->result);
		add_memory(f->words->evidence, sizeof(f->words->evidence), v, c);
	}
}
