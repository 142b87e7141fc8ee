/* SPDX-License-Identifier: BSD-2-Clause */
#include "place_kind.h"

#include "trace/comm_kernels.h"

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

	if (op->of->measured && op->of->measured->name)
		name = op->of->measured->name;
	else if (op->of->node)
		name = op->of->node->name;
	return (op->of->class == OP_KERNEL || op->of->class == OP_COMM) && name < op->of->trace->n_kernels ? name : 0;
}

const char *op_kernel(const struct op *op)
{
	uint32_t name = op_kernel_index(op);

	return name ? op->of->trace->kernels[name] : "";
}

const char *op_title(const struct op *op)
{
	return kernel_title(op->of->trace, op_kernel_index(op));
}

static const char *const copies[] = {
	[GST_COPY_UNKNOWN] = "copy",
	[GST_COPY_H2D_PAGEABLE] = "copy host to device, pageable",
	[GST_COPY_H2D_PINNED] = "copy host to device, pinned",
	[GST_COPY_D2H_PAGEABLE] = "copy device to host, pageable",
	[GST_COPY_D2H_PINNED] = "copy device to host, pinned",
	[GST_COPY_D2D] = "copy within the device",
	[GST_COPY_PEER] = "copy between devices",
	[GST_COPY_H2H] = "copy host to host",
};

const char *op_label(const struct op *op)
{
	switch (op->of->class) {
	case OP_COPY:
		return copies[op->of->copy < sizeof(copies) / sizeof(copies[0]) ? op->of->copy : GST_COPY_UNKNOWN];
	case OP_MEMSET:
		return "memset";
	case OP_HOSTFN:
		return "host function";
	default:
		break;
	}
	if (*op_title(op))
		return op_title(op);
	return op->call->family == GST_FAMILY_GRAPH_LAUNCH && !op->of->node &&
			       (!op->of->exact || op->of->measured->kind == GST_ACTIVITY_GRAPH)
		       ? "CUDA graph"
		       : OP_NAMELESS;
}

uint64_t op_bytes(const struct op *op)
{
	if (op->of->measured && op->of->measured->bytes)
		return op->of->measured->bytes;
	return op->of->node ? op->of->node->arg : op->call->args[0];
}

int64_t op_begun_ns(const struct op *op)
{
	return op->of->more ? op->of->more->begun_ns : op->begin_ns;
}

int64_t op_unfinished_ns(const struct op *op)
{
	return op->of->more ? op->of->more->unfinished_ns : op->end_ns;
}

int64_t op_usual_ns(const struct op *op)
{
	return op->of->more ? op->of->more->usual_ns : 0;
}
