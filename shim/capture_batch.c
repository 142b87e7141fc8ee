/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies that are described by structures of their own: batches, and boxes between contexts. See capture.h. A batch's lists are as long as the
 * program says: they are read when the driver has taken it. */
#include "capture.h"

#define ASKED_MAX 16 /* copies of a batch whose kinds are asked for: of longer ones the kind is not known */

/* What a batch's copies have in common. */
struct batch {
	uint64_t bytes;
	enum gst_copy_kind kind;
};

static void add(struct call *c, struct batch *b, size_t i, size_t count, CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	enum gst_copy_kind kind = GST_COPY_UNKNOWN;

	b->bytes += bytes;
	if (count <= ASKED_MAX && dst && src)
		kind = copy_kind(c->thread, COPY_ANY, dst, src);
	if (i == 0)
		b->kind = kind;
	else if (b->kind != kind)
		b->kind = GST_COPY_UNKNOWN;
}

/* One record stands for all: they are one submission. Whether the host waits for any of them is not documented, so nothing is made of it. */
void copy_batch(struct call *c, CUstream s)
{
	copy(c, s, COPY_OTHER, 0, 0, 0, ASYNC);
}

/* False: there is nothing to be read. Our questions are no part of the call. */
static bool was_taken(struct call *c, CUresult rc)
{
	if (!c->thread || rc != CUDA_SUCCESS)
		return false;
	c->record.end = clock_ticks();
	return true;
}

static void describe_batch(struct call *c, const struct batch *b, CUdeviceptr pointer, size_t count)
{
	c->record.args[0] = b->bytes;
	c->record.args[1] = pointer;
	c->record.detail = b->kind == GST_COPY_H2H ? GST_COPY_UNKNOWN : (uint16_t)b->kind;
	c->record.name = count < UINT32_MAX ? (uint32_t)count : 0;
}

void copied_batch(struct call *c, CUresult rc, const CUdeviceptr *dst, const CUdeviceptr *src, const size_t *bytes,
		  size_t count)
{
	struct batch b = { 0 };

	if (!dst || !src || !bytes || !was_taken(c, rc))
		return;
	for (size_t i = 0; i < count; i++)
		add(c, &b, i, count, dst[i], src[i], bytes[i]);
	describe_batch(c, &b, count ? dst[0] : 0, count);
}

static CUdeviceptr pointer_of(const CUmemcpy3DOperand *o)
{
	return o->type == CU_MEMCPY_OPERAND_TYPE_POINTER ? o->op.ptr.ptr : 0;
}

void copied_batch_3d(struct call *c, CUresult rc, const CUDA_MEMCPY3D_BATCH_OP *ops, size_t count)
{
	struct batch b = { 0 };

	if (!ops || !was_taken(c, rc))
		return;
	for (size_t i = 0; i < count; i++) {
		CUdeviceptr dst = pointer_of(&ops[i].dst), src = pointer_of(&ops[i].src);
		const CUextent3D *e =
			&ops[i].extent; /* in bytes, or in an array's elements, whose size is not known here */

		add(c, &b, i, count, dst, src, dst && src ? e->width * e->height * e->depth : 0);
	}
	describe_batch(c, &b, count ? pointer_of(&ops[0].dst) : 0, count);
}

void copy_3d_peer(struct call *c, CUstream s, const CUDA_MEMCPY3D_PEER *p, enum copy_mode mode)
{
	bool peer;

	if (!p)
		return;
	peer = p->srcMemoryType == CU_MEMORYTYPE_DEVICE && p->dstMemoryType == CU_MEMORYTYPE_DEVICE;
	copy(c, s, peer ? COPY_PEER : COPY_OTHER, p->dstDevice, p->srcDevice, p->WidthInBytes * p->Height * p->Depth,
	     mode);
}
