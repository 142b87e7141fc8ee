/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <stdio.h>
#include <stdlib.h>

static bool before(const struct op *a, const struct op *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->sequence < b->sequence;
}

struct op *op_heap_top(const struct op_heap *heap)
{
	return heap->count ? heap->ops[0] : NULL;
}

void op_heap_push(struct op_heap *heap, struct op *op)
{
	unsigned at = heap->count;

	if (heap->count == heap->room) {
		heap->room = heap->room ? heap->room * 2 : 1024;
		heap->ops = realloc(heap->ops, heap->room * sizeof(struct op *));
		if (!heap->ops) {
			fputs("simgpu: out of memory\n", stderr);
			abort(); /* a test driver that lost an operation would lie about the truth */
		}
	}
	heap->count++;
	while (at && before(op, heap->ops[(at - 1) / 2])) {
		heap->ops[at] = heap->ops[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap->ops[at] = op;
}

struct op *op_heap_pop(struct op_heap *heap)
{
	struct op *top = op_heap_top(heap), *last;
	unsigned at = 0;

	if (!top)
		return NULL;
	last = heap->ops[--heap->count];
	for (;;) {
		unsigned child = 2 * at + 1;

		if (child >= heap->count)
			break;
		if (child + 1 < heap->count && before(heap->ops[child + 1], heap->ops[child]))
			child++;
		if (!before(heap->ops[child], last))
			break;
		heap->ops[at] = heap->ops[child];
		at = child;
	}
	if (heap->count)
		heap->ops[at] = last;
	return top;
}
