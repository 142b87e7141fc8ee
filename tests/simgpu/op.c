/* SPDX-License-Identifier: BSD-2-Clause */
/* op.c: operations as objects: references, what waits for what. */
#include "op.h"

#include "kernel_run.h"
#include "observer.h"

#include <stdlib.h>

static struct op *free_ops;
static uint64_t sequence;

struct op *op_new(enum op_kind kind, int device)
{
	struct op *op = free_ops;
	struct op **waiters = NULL;
	unsigned room = 0;

	if (op) {
		free_ops = op->next;
		waiters = op->waiters; /* the array is kept with the object */
		room = op->waiter_room;
	} else {
		op = malloc(sizeof(*op));
		if (!op)
			return NULL;
	}
	*op = (struct op){ .kind = kind,
			   .device = device,
			   .refs = 1,
			   .sequence = ++sequence,
			   .correlation = observer_correlation(),
			   .waiters = waiters,
			   .waiter_room = room };
	return op;
}

struct op *op_ref(struct op *op)
{
	op->refs++;
	return op;
}

void op_unref(struct op *op)
{
	if (!op || --op->refs)
		return;
	free(op->transfer.staging);
	kernel_run_free(op->run);
	op->next = free_ops;
	free_ops = op;
}

bool op_done(const struct op *op)
{
	return op->stage == STAGE_DONE;
}

static bool end_known(const struct op *op)
{
	return op->stage >= STAGE_RESOLVED;
}

bool op_after(struct op *op, struct op *before)
{
	if (!before)
		return true;
	if (end_known(before)) {
		if (before->release_ns + op->gap_ns > op->ready_ns)
			op->ready_ns = before->release_ns + op->gap_ns;
		return true;
	}
	if (before->waiter_count == before->waiter_room) {
		unsigned room = before->waiter_room ? before->waiter_room * 2 : 4;
		struct op **waiters = realloc(before->waiters, room * sizeof(struct op *));

		if (!waiters)
			return false;
		before->waiters = waiters;
		before->waiter_room = room;
	}
	before->waiters[before->waiter_count++] = op_ref(op);
	op->blockers++;
	return true;
}

void op_queue_push(struct op_queue *queue, struct op *op)
{
	op->next = NULL;
	if (queue->tail)
		queue->tail->next = op;
	else
		queue->head = op;
	queue->tail = op;
}

struct op *op_queue_pop(struct op_queue *queue)
{
	struct op *op = queue->head;

	if (!op)
		return NULL;
	queue->head = op->next;
	if (!queue->head)
		queue->tail = NULL;
	op->next = NULL;
	return op;
}

bool op_queue_remove(struct op_queue *queue, struct op *wanted)
{
	struct op *before = NULL;

	for (struct op *op = queue->head; op; before = op, op = op->next) {
		if (op != wanted)
			continue;
		if (before)
			before->next = op->next;
		else
			queue->head = op->next;
		if (queue->tail == op)
			queue->tail = before;
		op->next = NULL;
		return true;
	}
	return false;
}
