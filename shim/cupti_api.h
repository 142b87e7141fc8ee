/* SPDX-License-Identifier: BSD-2-Clause */
/* cupti_api.h: as much of CUPTI's binary interface as we use, written from its documentation, so that neither the shim nor the tests' own
 * libcupti needs NVIDIA's headers; a test compares every number and offset with the headers of CUPTI 12 and 13.
 *
 * Records are read up to the fields below, of which no version has moved any since CUDA 11.1 (CUpti_ActivityKernel5, Memcpy4, MemcpyPtoP3,
 * Memset3): later versions appended, up to CUpti_ActivityKernel13, Memcpy7, MemcpyPtoP4, Memset5 in 13.5. How long a record is,
 * cuptiActivityGetNextRecord knows. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct CUctx_st; /* what a CUcontext points to */

enum cupti_result {
	CUPTI_SUCCESS = 0,
	CUPTI_ERROR_INVALID_PARAMETER = 1,
	CUPTI_ERROR_MAX_LIMIT_REACHED = 12,
	CUPTI_ERROR_NOT_INITIALIZED = 15,
	CUPTI_ERROR_INVALID_OPERATION = 7,
	CUPTI_ERROR_INVALID_KIND = 21,
	CUPTI_ERROR_INSUFFICIENT_PRIVILEGES = 35,
	CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39,
};

enum cupti_kind {
	CUPTI_ACTIVITY_KIND_MEMCPY = 1,
	CUPTI_ACTIVITY_KIND_MEMSET = 2,
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL = 10,
	CUPTI_ACTIVITY_KIND_MEMCPY2 = 22, /* between two devices */
};

enum { CUPTI_ACTIVITY_FLAG_FLUSH_FORCED = 1, CUPTI_CB_DOMAIN_DRIVER_API = 1, CUPTI_API_ENTER = 0, CUPTI_API_EXIT = 1 };

enum cupti_copy_kind { /* A: array */
		       CUPTI_ACTIVITY_MEMCPY_KIND_HTOD = 1,
		       CUPTI_ACTIVITY_MEMCPY_KIND_DTOH = 2,
		       CUPTI_ACTIVITY_MEMCPY_KIND_HTOA = 3,
		       CUPTI_ACTIVITY_MEMCPY_KIND_ATOH = 4,
		       CUPTI_ACTIVITY_MEMCPY_KIND_ATOA = 5,
		       CUPTI_ACTIVITY_MEMCPY_KIND_ATOD = 6,
		       CUPTI_ACTIVITY_MEMCPY_KIND_DTOA = 7,
		       CUPTI_ACTIVITY_MEMCPY_KIND_DTOD = 8,
		       CUPTI_ACTIVITY_MEMCPY_KIND_HTOH = 9,
		       CUPTI_ACTIVITY_MEMCPY_KIND_PTOP = 10,
};

enum cupti_memory_kind { CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE = 1, CUPTI_ACTIVITY_MEMORY_KIND_PINNED = 2 };

struct cupti_record {
	uint32_t kind;
};

struct cupti_kernel {
	uint32_t kind;
	uint8_t configuration[12];
	uint64_t start, end, completed; /* ns; start and end both 0: not known */
	uint32_t device, context, stream;
	int32_t grid[3], block[3], static_shared, dynamic_shared;
	uint32_t local, local_total;
	uint32_t correlation;
	int64_t grid_id;
	const char *name; /* the same for all records of a kernel, and stays */
	void *reserved;
	uint64_t queued, submitted;
	uint8_t launch[4];
	uint32_t shared;
	uint64_t graph_node; /* 0: not of a graph */
	uint32_t shared_limit, graph;
};
_Static_assert(offsetof(struct cupti_kernel, correlation) == 92 && offsetof(struct cupti_kernel, name) == 104 &&
		       offsetof(struct cupti_kernel, graph_node) == 144 && sizeof(struct cupti_kernel) == 160,
	       "kernel");

struct cupti_copy {
	uint32_t kind;
	uint8_t copy_kind, source_kind, destination_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t correlation, runtime_correlation, padding;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph, zero;
};
_Static_assert(offsetof(struct cupti_copy, correlation) == 44 && offsetof(struct cupti_copy, graph_node) == 64, "copy");

struct cupti_peer_copy {
	uint32_t kind;
	uint8_t copy_kind, source_kind, destination_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t source_device, source_context, destination_device, destination_context;
	uint32_t correlation;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph, zero;
};
_Static_assert(offsetof(struct cupti_peer_copy, correlation) == 60 &&
		       offsetof(struct cupti_peer_copy, graph_node) == 72,
	       "copy between devices");

struct cupti_memset {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t correlation;
	uint16_t flags, memory_kind;
	uint32_t padding;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph, zero;
};
_Static_assert(offsetof(struct cupti_memset, correlation) == 44 && offsetof(struct cupti_memset, graph_node) == 64,
	       "memset");

/* What a callback about a driver call is given. */
struct cupti_call {
	uint32_t site; /* CUPTI_API_ENTER … */
	const char *name;
	const void *parameters;
	void *result;
	const char *symbol;
	struct CUctx_st *context;
	uint32_t context_id;
	uint64_t *data;
	uint32_t correlation; /* as in the records of what the call put in */
};
_Static_assert(offsetof(struct cupti_call, correlation) == 64, "call");

typedef void cupti_callback(void *user, uint32_t domain, uint32_t call_id, const void *data);
typedef void cupti_buffer_wanted(uint8_t **buffer, size_t *size, size_t *records);
typedef void cupti_buffer_full(struct CUctx_st *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
typedef uint64_t cupti_clock(void);

/* NEEDED: without it we do without CUPTI. */
#define CUPTI_FUNCTIONS(NEEDED, OPTIONAL)                                                                         \
	NEEDED(cuptiSubscribe, (void **subscriber, cupti_callback *callback, void *user))                         \
	NEEDED(cuptiUnsubscribe, (void *subscriber))                                                              \
	NEEDED(cuptiEnableCallback, (uint32_t enable, void *subscriber, uint32_t domain, uint32_t call_id))       \
	NEEDED(cuptiActivityRegisterCallbacks, (cupti_buffer_wanted * wanted, cupti_buffer_full * full))          \
	NEEDED(cuptiActivityEnable, (uint32_t kind))                                                              \
	NEEDED(cuptiActivityDisable, (uint32_t kind))                                                             \
	NEEDED(cuptiActivityFlushAll, (uint32_t flag))                                                            \
	NEEDED(cuptiActivityGetNextRecord, (uint8_t * buffer, size_t valid, struct cupti_record * *record))       \
	NEEDED(cuptiActivityGetNumDroppedRecords, (struct CUctx_st * context, uint32_t stream, size_t * dropped)) \
	NEEDED(cuptiGetTimestamp, (uint64_t * ns))                                                                \
	OPTIONAL(cuptiActivityRegisterTimestampCallback, (cupti_clock * clock))

#define CUPTI_POINTER(name, params) int(*name) params;
struct cupti_api {
	CUPTI_FUNCTIONS(CUPTI_POINTER, CUPTI_POINTER)
};
