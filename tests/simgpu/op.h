/* SPDX-License-Identifier: BSD-2-Clause */
/* op.h: queues of operations and their bytes, for timeline.c only. Locked. */
#pragma once

#include "timeline.h"

void op_queue_push(struct op_queue *queue, struct op *op);
struct op *op_queue_pop(struct op_queue *queue);
bool op_queue_remove(struct op_queue *queue, struct op *wanted);

/* Operations by due_ns, then by sequence. */
struct op_heap {
	struct op **ops;
	unsigned count, room;
};

void op_heap_push(struct op_heap *heap, struct op *op);
struct op *op_heap_pop(struct op_heap *heap);
struct op *op_heap_top(const struct op_heap *heap); /* NULL: empty */
