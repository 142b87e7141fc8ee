/* SPDX-License-Identifier: BSD-2-Clause */
/* import_kineto_comm.c: what PyTorch says of collectives: "record_param_comms", the operator around NCCL's launches, and Kineto once more
 * with each kernel. */
#include "import_kineto_parts.h"
#include "tools/spill.h"

static uint32_t word(struct kineto *k, const struct kineto_event *e, enum kineto_field field)
{
	return e->said & 1ull << field ? import_name(k->b, e->words[field - KINETO_FIELD_COLLECTIVE]) : 0;
}

static uint64_t number_or(const struct kineto_event *e, enum kineto_field field, uint64_t otherwise)
{
	return e->said & 1ull << field ? kineto_number(e, field) : otherwise;
}

static uint32_t small_or_none(const struct kineto_event *e, enum kineto_field field)
{
	uint64_t n = number_or(e, field, GST_NONE);

	return n < GST_NONE ? (uint32_t)n : GST_NONE;
}

static struct import_collective said(struct kineto *k, const struct kineto_event *e, int64_t begin_ns, int64_t end_ns)
{
	return (struct import_collective){
		.place = e->place,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.tid = kineto_tid(e),
		.name = word(k, e, KINETO_FIELD_COLLECTIVE),
		.group = word(k, e, KINETO_FIELD_GROUP),
		.ranks = word(k, e, KINETO_FIELD_GROUP_RANKS),
		.dtype = word(k, e, KINETO_FIELD_DTYPE),
		.size = small_or_none(e, KINETO_FIELD_GROUP_SIZE),
		.first = small_or_none(e, KINETO_FIELD_FIRST_RANK),
		.stride = small_or_none(e, KINETO_FIELD_RANK_STRIDE),
		.elements_in = number_or(e, KINETO_FIELD_ELEMENTS_IN, 0),
		.elements_out = number_or(e, KINETO_FIELD_ELEMENTS_OUT, 0),
		.seq = number_or(e, KINETO_FIELD_SEQ, 0),
	};
}

static bool of_kernel(struct kineto *k, const struct kineto_event *e, struct import_collective c)
{
	c.correlation = number_or(e, KINETO_FIELD_CORRELATION, 0);
	if (!c.correlation || !k->n_works)
		return true;
	if (!spill_room(k->collectives, k->n_collectives, k->collectives_cap))
		return false;
	k->collectives[k->n_collectives++] = (struct kineto_collective){ c, k->n_works - 1 };
	return true;
}

bool kineto_collective(struct kineto *k, const struct kineto_event *e, int64_t begin_ns, int64_t end_ns)
{
	struct import_collective c;
	uint32_t process;

	if (e->class != KINETO_KERNEL && e->class != KINETO_OPERATOR)
		return true;
	c = said(k, e, begin_ns, end_ns);
	if (e->class == KINETO_KERNEL)
		return of_kernel(k, e, c);
	process = kineto_process(k, e);
	if (process == KINETO_NO_PROCESS)
		return false;
	c.process = kineto_process_number(k, process);
	import_collective(k->b, &c);
	return true;
}

void kineto_collectives_end(struct kineto *k)
{
	for (size_t i = 0; i < k->n_collectives; i++) {
		struct kineto_collective *c = &k->collectives[i];

		c->said.process = k->works[c->work].work.process;
		import_collective(k->b, &c->said);
	}
}
