/* SPDX-License-Identifier: BSD-2-Clause */
#include "comms.h"

#include "names.h"
#include "tools/alloc.h"
#include "trace.h"

bool comms_add(struct trace *t, struct comms_room *room, const struct gst_comm *r)
{
	if (!array_room(t->comms, t->n_comms, room->comms))
		return false;
	t->comms[t->n_comms++] = (struct comm){ .hash = r->hash,
						.also = r->also,
						.id = r->comm,
						.parent = r->parent,
						.library_name = r->library,
						.rank = r->rank,
						.size = r->size,
						.version = r->version,
						.device = r->device,
						.made = r->made,
						.flags = r->flags };
	return true;
}

/* By number; of one number first the one that knows its rank. */
static int by_id(const void *a, const void *b)
{
	const struct comm *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->rank == GST_NONE) - (y->rank == GST_NONE);
}

void comms_publish(struct trace *t, const struct names *names)
{
	size_t kept = 0;

	array_sort(t->comms, t->n_comms, sizeof(*t->comms), by_id);
	for (size_t i = 0; i < t->n_comms; i++) {
		struct comm *c = &t->comms[kept];

		if (kept && t->comms[kept - 1].id == t->comms[i].id)
			continue;
		*c = t->comms[i];
		c->library = names_of(names, t, GST_SPACE_LIBRARY, c->library_name);
		c->name = names_of(names, t, GST_SPACE_COMM, c->id);
		kept++;
	}
	t->n_comms = kept;
}

static bool id_before(const void *element, const void *key)
{
	return ((const struct comm *)element)->id < *(const uint32_t *)key;
}

uint32_t comms_index(const struct trace *t, uint32_t id)
{
	size_t i = array_first(t->comms, t->n_comms, sizeof(*t->comms), id_before, &id);

	return id && i < t->n_comms && t->comms[i].id == id ? (uint32_t)i : GST_NONE;
}

uint64_t nccl_calls_of(const struct nccl_call *c)
{
	return c->kind == GST_NCCL_QUERY && c->count ? c->count : 1;
}

uint64_t nccl_bytes(const struct nccl_call *c)
{
	static const uint8_t size[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };
	uint64_t bytes;

	if (c->datatype >= sizeof(size) || __builtin_mul_overflow(c->count, size[c->datatype], &bytes))
		return 0;
	return bytes;
}

const char *nccl_kind_name(uint8_t kind)
{
	static const char *const names[GST_NCCL_KIND_COUNT] = {
		[GST_NCCL_OTHER] = "other",
		[GST_NCCL_ALL_REDUCE] = "all_reduce",
		[GST_NCCL_BROADCAST] = "broadcast",
		[GST_NCCL_REDUCE] = "reduce",
		[GST_NCCL_ALL_GATHER] = "all_gather",
		[GST_NCCL_REDUCE_SCATTER] = "reduce_scatter",
		[GST_NCCL_ALL_TO_ALL] = "all_to_all",
		[GST_NCCL_GATHER] = "gather",
		[GST_NCCL_SCATTER] = "scatter",
		[GST_NCCL_SEND] = "send",
		[GST_NCCL_RECV] = "recv",
		[GST_NCCL_PUT] = "put",
		[GST_NCCL_SIGNAL] = "signal",
		[GST_NCCL_WAIT_SIGNAL] = "wait_signal",
		[GST_NCCL_GROUP_START] = "group_start",
		[GST_NCCL_GROUP_END] = "group_end",
		[GST_NCCL_GROUP_SIMULATE] = "group_simulate",
		[GST_NCCL_INIT] = "init",
		[GST_NCCL_SPLIT] = "split",
		[GST_NCCL_SHRINK] = "shrink",
		[GST_NCCL_GROW] = "grow",
		[GST_NCCL_FINALIZE] = "finalize",
		[GST_NCCL_DESTROY] = "destroy",
		[GST_NCCL_ABORT] = "abort",
		[GST_NCCL_REVOKE] = "revoke",
		[GST_NCCL_SUSPEND] = "suspend",
		[GST_NCCL_RESUME] = "resume",
		[GST_NCCL_REGISTER] = "register",
		[GST_NCCL_DEREGISTER] = "deregister",
		[GST_NCCL_MEMORY] = "memory",
		[GST_NCCL_QUERY] = "query",
	};

	return kind < GST_NCCL_KIND_COUNT ? names[kind] : names[GST_NCCL_OTHER];
}

const char *nccl_datatype_name(uint8_t datatype)
{
	static const char *const names[] = {
		"int8",    "uint8",   "int32",   "uint32",   "int64",       "uint64",
		"float16", "float32", "float64", "bfloat16", "float8_e4m3", "float8_e5m2"
	};

	return datatype < sizeof(names) / sizeof(names[0]) ? names[datatype] : datatype == 0xff ? "none" : "unknown";
}

const char *nccl_op_name(uint16_t op)
{
	static const char *const names[] = { "sum", "prod", "max", "min", "avg" };

	return op < sizeof(names) / sizeof(names[0]) ? names[op] : op == 0xffff ? "none" : "custom";
}
