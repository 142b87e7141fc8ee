/* SPDX-License-Identifier: BSD-2-Clause */
/* What the device did becomes a record of 13.5's length in memory of the client's. The driver's lock is held while an operation is told of:
 * it waits in a queue until some thread delivers. */
#include "standin.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KERNEL_BYTES = 248, COPY_BYTES = 112, PEER_BYTES = 96, MEMSET_BYTES = 104 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the queue; under the driver's */
static struct observed_op *queue;
static size_t queued, room;
static size_t seen, dropped;

static pthread_mutex_t delivering = PTHREAD_MUTEX_INITIALIZER; /* what follows */
static cupti_buffer_wanted *wanted;
static cupti_buffer_full *full;
static uint8_t *buffer;
static size_t size, used, most, inside;

static uint32_t kind_of(const struct observed_op *op)
{
	switch (op->kind) {
	case OP_KERNEL:
		return CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	case OP_MEMSET:
		return CUPTI_ACTIVITY_KIND_MEMSET;
	case OP_MEMCPY:
		return op->copy == COPY_PEER ? CUPTI_ACTIVITY_KIND_MEMCPY2 : CUPTI_ACTIVITY_KIND_MEMCPY;
	default:
		return 0;
	}
}

void records_op(const struct observed_op *op)
{
	uint32_t kind = kind_of(op);
	unsigned every = option_number("drop");
	struct observed_op *more = queue;

	if (!kind || !kind_is_on(kind))
		return;
	pthread_mutex_lock(&lock);
	if (queued == room)
		more = realloc(queue, (room ? room * 2 : 1024) * sizeof(*queue));
	if (!more || (every && ++seen % every == 0)) {
		dropped++;
	} else {
		if (queued == room)
			room = room ? room * 2 : 1024;
		queue = more;
		queue[queued++] = *op;
	}
	pthread_mutex_unlock(&lock);
}

/* ---- one record ------------------------------------------------------------------------------------------------------ */

static size_t bytes_of(uint32_t kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return KERNEL_BYTES;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return COPY_BYTES;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		return PEER_BYTES;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return MEMSET_BYTES;
	}
	return 0;
}

/* What the parts all begin or end with, under their own names. */
#define COMMON(op)                                                                                                    \
	.kind = kind_of(op), .start = clock_of((op)->start_ns), .end = clock_of((op)->end_ns),                        \
	.device = (uint32_t)(op)->device, .context = 1, .stream = (op)->stream + 7, .correlation = (op)->correlation, \
	.graph_node = (op)->node, .graph = (op)->graph

static void put_kernel(uint8_t *to, const struct observed_op *op)
{
	const struct cupti_kernel k = { COMMON(op), .name = op->name };

	memcpy(to, &k, sizeof(k));
}

static void put_memset(uint8_t *to, const struct observed_op *op)
{
	const struct cupti_memset m = { COMMON(op), .bytes = op->bytes };

	memcpy(to, &m, sizeof(m));
}

static void put_peer_copy(uint8_t *to, const struct observed_op *op)
{
	const struct cupti_peer_copy c = { COMMON(op), .copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
					   .bytes = op->bytes };

	memcpy(to, &c, sizeof(c));
}

static void put_copy(uint8_t *to, const struct observed_op *op)
{
	const bool pageable = op->copy == COPY_H2D_PAGEABLE || op->copy == COPY_D2H_PAGEABLE;
	const bool in = op->copy == COPY_H2D_PAGEABLE || op->copy == COPY_H2D_PINNED, within = op->copy == COPY_D2D;
	const uint8_t host = pageable ? CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE : CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
		      device = 3;
	const struct cupti_copy c = { COMMON(op), .bytes = op->bytes,
				      .copy_kind = within ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD
						   : in   ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
							  : CUPTI_ACTIVITY_MEMCPY_KIND_DTOH,
				      .source_kind = in ? host : device,
				      .destination_kind = in || within ? device : host };

	memcpy(to, &c, sizeof(c));
}

static void put(uint8_t *to, const struct observed_op *op)
{
	switch (kind_of(op)) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		put_kernel(to, op);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		put_memset(to, op);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		put_peer_copy(to, op);
		break;
	default:
		put_copy(to, op);
	}
}

/* ---- buffers --------------------------------------------------------------------------------------------------------- */

static void give_back(void)
{
	if (buffer)
		full(NULL, 0, buffer, size, used);
	buffer = NULL;
}

/* False: the client has no memory for it. */
static bool write_op(const struct observed_op *op)
{
	size_t bytes = bytes_of(kind_of(op));

	if (buffer && (used + bytes > size || (most && inside == most)))
		give_back();
	if (!buffer) {
		used = inside = 0;
		wanted(&buffer, &size, &most);
		if (!buffer || size < bytes)
			return false;
	}
	memset(buffer + used, 0xee, bytes); /* what a client may not rely on */
	put(buffer + used, op);
	used += bytes;
	inside++;
	return true;
}

static bool next_op(struct observed_op *op)
{
	static size_t taken;
	bool any;

	pthread_mutex_lock(&lock);
	any = taken < queued;
	if (any)
		*op = queue[taken++];
	else
		taken = queued = 0;
	pthread_mutex_unlock(&lock);
	return any;
}

bool records_ready(void)
{
	return wanted != NULL;
}

void records_deliver(bool all)
{
	struct observed_op op;

	if (!records_ready())
		return;
	pthread_mutex_lock(&delivering);
	while (next_op(&op)) {
		if (write_op(&op))
			continue;
		pthread_mutex_lock(&lock);
		dropped++;
		pthread_mutex_unlock(&lock);
	}
	if (all)
		give_back();
	pthread_mutex_unlock(&delivering);
}

int cuptiActivityRegisterCallbacks(cupti_buffer_wanted *for_wanted, cupti_buffer_full *for_full)
{
	if (!for_wanted || !for_full)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&delivering);
	wanted = for_wanted;
	full = for_full;
	pthread_mutex_unlock(&delivering);
	return CUPTI_SUCCESS;
}

int cuptiActivityFlushAll(uint32_t flag)
{
	if (!records_ready()) /* they are whole when they are written: all of them, by force or not */
		return CUPTI_ERROR_INVALID_OPERATION;
	if (flag == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)
		usleep(1000 * option_number("slow"));
	observe_advance();
	records_deliver(true);
	return CUPTI_SUCCESS;
}

int cuptiActivityGetNextRecord(uint8_t *in, size_t valid, struct cupti_record **record)
{
	uint8_t *next = in;

	if (*record)
		next = (uint8_t *)*record + bytes_of((*record)->kind);
	if (next >= in + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (struct cupti_record *)next;
	return bytes_of((*record)->kind) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

int cuptiActivityGetNumDroppedRecords(struct CUctx_st *context, uint32_t stream, size_t *number)
{
	(void)context, (void)stream;
	pthread_mutex_lock(&lock);
	*number = dropped;
	dropped = 0;
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}
