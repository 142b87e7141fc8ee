/* SPDX-License-Identifier: BSD-2-Clause */
/* user_object.c: counting references; the last one's release has the driver's thread call the destroy function, like a host
 * function that stands in no stream. */
#include "user_object.h"

#include "call.h"
#include "graph.h"

#include <limits.h>
#include <stdlib.h>

struct CUuserObject_st {
	CUhostFn destroy;
	void *argument;
	uint64_t references;
};

static struct slab object_slab = SLAB(struct CUuserObject_st, 1 << 16);

static bool count_valid(unsigned count)
{
	return count && count <= INT_MAX;
}

static void release(CUuserObject object, uint64_t count, struct op *after)
{
	struct op *op;

	object->references -= count < object->references ? count : object->references;
	if (object->references)
		return;
	op = op_new(OP_HOSTFN, 0);
	if (op) {
		op->takes_real_time = true;
		op->internal = true;
		op->ready_ns = clock_now_ns();
		op->call = (struct host_call){ .function = object->destroy, .argument = object->argument };
		op_after(op, after);
		op_submit(op);
		op_unref(op);
	}
	slab_give(&object_slab, object);
}

static struct object_hold **find_hold(struct object_hold **list, CUuserObject object)
{
	while (*list && (*list)->object != object)
		list = &(*list)->next;
	return list;
}

static bool hold(struct object_hold **list, CUuserObject object, unsigned count)
{
	struct object_hold **at = find_hold(list, object);

	if (!*at)
		*at = calloc(1, sizeof(**at));
	if (!*at)
		return false;
	(*at)->object = object;
	(*at)->count += count;
	return true;
}

bool object_holds_copy(struct object_hold **to, const struct object_hold *from)
{
	for (; from; from = from->next) {
		if (!hold(to, from->object, from->count))
			return false;
		from->object->references += from->count;
	}
	return true;
}

void object_holds_free(struct object_hold **list, struct op *after)
{
	while (*list) {
		struct object_hold *first = *list;

		*list = first->next;
		release(first->object, first->count, after);
		free(first);
	}
}

/* ---- calls --------------------------------------------------------------------------------------------------- */

CUresult api_user_object_create(CALL, CUuserObject *object, void *argument, CUhostFn destroy, unsigned int references,
				unsigned int flags)
{
	struct CUuserObject_st *made;

	if (!object || !destroy || !count_valid(references) || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	made = slab_take(&object_slab);
	if (made)
		*made = (struct CUuserObject_st){ destroy, argument, references };
	sim_unlock();
	*object = made;
	return made ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult api_user_object_retain(CALL, CUuserObject object, unsigned int count)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	if (count_valid(count) && slab_holds(&object_slab, object)) {
		object->references += count;
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

CUresult api_user_object_release(CALL, CUuserObject object, unsigned int count)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	if (count_valid(count) && slab_holds(&object_slab, object)) {
		release(object, count, NULL);
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

CUresult api_graph_retain_object(CALL, CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (!count_valid(count) || (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE))
		return result;
	sim_lock();
	if (graph_valid(graph) && slab_holds(&object_slab, object)) {
		result = hold(&graph->objects, object, count) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
		if (!result && !flags) /* moved references are counted already */
			object->references += count;
	}
	sim_unlock();
	return result;
}

CUresult api_graph_release_object(CALL, CUgraph graph, CUuserObject object, unsigned int count)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	struct object_hold **at, *gone;

	sim_lock();
	if (count_valid(count) && graph_valid(graph) && slab_holds(&object_slab, object)) {
		at = find_hold(&graph->objects, object);
		if (*at && (*at)->count >= count) {
			(*at)->count -= count;
			if (!(*at)->count) {
				gone = *at;
				*at = gone->next;
				free(gone);
			}
			release(object, count, NULL);
			result = CUDA_SUCCESS;
		}
	}
	sim_unlock();
	return result;
}
