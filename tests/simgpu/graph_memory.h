/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_memory.h: memory that a graph's launch allocates and frees. The address is fixed when the node is made, so that other
 * nodes can name it; from then on it passes for device memory, though it is taken from the device only from the launch that
 * allocates it to whatever frees it: a node, cuMemFree, cuMemFreeAsync. In the model both happen when they are submitted.
 * Locked. */
#pragma once

#include "objects.h"

CUresult graph_memory_check(const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *params);
CUresult graph_memory_reserve(CUDA_MEM_ALLOC_NODE_PARAMS_v2 *params); /* sets dptr; one reference, the caller's */
bool graph_memory_claim(CUdeviceptr address);  /* for the one node that frees it; false: there is one, or not of a graph */
void graph_memory_unclaim(CUdeviceptr address);
void graph_memory_ref(CUdeviceptr address);    /* every node that allocates or frees it has one */
void graph_memory_unref(CUdeviceptr address);  /* the last: the address goes, once the memory is free */

bool graph_memory_live(CUdeviceptr address);
CUresult graph_memory_allocate(CUdeviceptr address);
CUresult graph_memory_free(CUdeviceptr address); /* CUDA_ERROR_INVALID_VALUE: not a graph's, or not there */
