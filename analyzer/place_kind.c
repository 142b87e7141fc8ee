/* SPDX-License-Identifier: BSD-2-Clause */
#include "place_kind.h"

#include "comm_kernels.h"

static bool communicates(const struct trace *t, uint32_t kernel)
{
	return t->communicates && kernel < t->n_kernels && t->communicates[kernel];
}

/* A kernel of whatever name is communication if an NCCL call launched it. */
static bool launched_by_nccl(const struct call *c)
{
	return c->family == GST_FAMILY_LAUNCH && c->detail == LAUNCH_BY_NCCL;
}

enum op_class place_class_of_call(const struct call *c, const struct trace *t)
{
	switch (c->family) {
	case GST_FAMILY_COPY:
		return OP_COPY;
	case GST_FAMILY_MEMSET:
		return OP_MEMSET;
	case GST_FAMILY_LAUNCH:
		return launched_by_nccl(c) || communicates(t, c->name) ? OP_COMM : OP_KERNEL;
	default:
		return OP_KERNEL;
	}
}

enum op_class place_class_of_node(const struct graph_node *n, const struct trace *t)
{
	if (n->type == NODE_COPY)
		return OP_COPY;
	if (n->type == NODE_MEMSET)
		return OP_MEMSET;
	return communicates(t, n->name) ? OP_COMM : OP_KERNEL;
}

enum op_class place_class_of_measured(const struct measured *m, const struct call *c, const struct trace *t)
{
	if (m->kind == GST_ACTIVITY_COPY)
		return OP_COPY;
	if (m->kind == GST_ACTIVITY_MEMSET)
		return OP_MEMSET;
	return launched_by_nccl(c) || communicates(t, m->name) ? OP_COMM : OP_KERNEL;
}

uint32_t op_kernel_index(const struct op *op)
{
	uint32_t name = op->call->family == GST_FAMILY_LAUNCH ? op->call->name : 0;

	if (op->measured && op->measured->name)
		name = op->measured->name;
	else if (op->node)
		name = op->node->name;
	return (op->class == OP_KERNEL || op->class == OP_COMM) && name < op->trace->n_kernels ? name : 0;
}

const char *op_kernel(const struct op *op)
{
	uint32_t name = op_kernel_index(op);

	return name ? op->trace->kernels[name] : "";
}

const char *op_title(const struct op *op)
{
	return kernel_title(op->trace, op_kernel_index(op));
}

uint64_t op_bytes(const struct op *op)
{
	if (op->measured && op->measured->bytes)
		return op->measured->bytes;
	return op->node ? op->node->arg : op->call->args[0];
}

int64_t op_begun_ns(const struct op *op)
{
	return op->more ? op->more->begun_ns : op->begin_ns;
}

int64_t op_unfinished_ns(const struct op *op)
{
	return op->more ? op->more->unfinished_ns : op->end_ns;
}

int64_t op_usual_ns(const struct op *op)
{
	return op->more ? op->more->usual_ns : 0;
}
