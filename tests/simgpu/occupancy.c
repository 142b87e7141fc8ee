/* SPDX-License-Identifier: BSD-2-Clause */
/* occupancy.c: how many blocks of a kernel run at once on a multiprocessor, by the numbers of an H200: threads in warps of 32,
 * blocks, shared memory with 1 KiB for each block on top. Registers never bound it at 32 a thread. */
#include "call.h"
#include "function.h"

enum {
	MULTIPROCESSORS = 132, /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT */
	WARP = 32,
	MAX_THREADS = 1024,
	THREADS_PER_SM = 2048,
	BLOCKS_PER_SM = 32,
	SHARED_PER_SM = 228 << 10,
	SHARED_OF_BLOCK = 1 << 10, /* what the system takes of each block's */
	SHARED_PER_BLOCK = 227 << 10,
	SHARED_UNIT = 128,
	CLUSTER_PORTABLE = 8
};

static size_t round_up(size_t value, size_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static int blocks_per_sm(int block_size, size_t shared)
{
	size_t threads = round_up((size_t)block_size, WARP);
	size_t most = block_size > MAX_THREADS ? 0 : THREADS_PER_SM / threads;
	size_t by_shared = SHARED_PER_SM / round_up(shared + SHARED_OF_BLOCK, SHARED_UNIT);

	if (most > BLOCKS_PER_SM)
		most = BLOCKS_PER_SM;
	if (shared > SHARED_PER_BLOCK)
		return 0;
	return (int)(most < by_shared ? most : by_shared);
}

static CUresult exists(const struct call *call, CUfunction function)
{
	CUfunction found;

	sim_lock();
	found = function_in(function, call->context);
	sim_unlock();
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult api_occupancy_flags(CALL, int *blocks, CUfunction function, int block_size, size_t shared, unsigned int flags)
{
	CUresult result;

	if (!blocks || block_size <= 0 || (flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE))
		return CUDA_ERROR_INVALID_VALUE;
	result = exists(call, function);
	if (!result)
		*blocks = blocks_per_sm(block_size, shared);
	return result;
}

CUresult api_occupancy(CALL, int *blocks, CUfunction function, int block_size, size_t shared)
{
	return api_occupancy_flags(call, blocks, function, block_size, shared, 0);
}

/* The largest block of those with the most threads running. */
CUresult api_occupancy_block_flags(CALL, int *grid, int *block, CUfunction function, CUoccupancyB2DSize shared_of,
				   size_t shared, int limit, unsigned int flags)
{
	int best = 0, best_blocks = 0;
	CUresult result;

	if (!grid || !block || limit < 0 || (flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE))
		return CUDA_ERROR_INVALID_VALUE;
	result = exists(call, function);
	if (result)
		return result;
	if (!limit || limit > MAX_THREADS)
		limit = MAX_THREADS;
	for (int size = (int)round_up((size_t)limit, WARP); size > 0; size -= WARP) {
		int threads = size < limit ? size : limit;
		int blocks = blocks_per_sm(threads, shared_of ? shared_of(threads) : shared);

		if (blocks * threads > best_blocks * best) {
			best = threads;
			best_blocks = blocks;
		}
	}
	*block = best;
	*grid = best_blocks * MULTIPROCESSORS;
	return CUDA_SUCCESS;
}

CUresult api_occupancy_block(CALL, int *grid, int *block, CUfunction function, CUoccupancyB2DSize shared_of,
			     size_t shared, int limit)
{
	return api_occupancy_block_flags(call, grid, block, function, shared_of, shared, limit, 0);
}

CUresult api_occupancy_shared(CALL, size_t *shared, CUfunction function, int blocks, int block_size)
{
	size_t each;
	CUresult result;

	if (!shared || blocks <= 0 || block_size <= 0 || blocks > blocks_per_sm(block_size, 0))
		return CUDA_ERROR_INVALID_VALUE;
	result = exists(call, function);
	if (result)
		return result;
	each = SHARED_PER_SM / (size_t)blocks / SHARED_UNIT * SHARED_UNIT - SHARED_OF_BLOCK;
	*shared = each > SHARED_PER_BLOCK ? SHARED_PER_BLOCK : each;
	return CUDA_SUCCESS;
}

CUresult api_occupancy_cluster_size(CALL, int *size, CUfunction function, const CUlaunchConfig *config)
{
	CUresult result;

	if (!size || !config)
		return CUDA_ERROR_INVALID_VALUE;
	result = exists(call, function);
	if (!result)
		*size = CLUSTER_PORTABLE;
	return result;
}

/* The number of blocks in a cluster as the launch says it; 0: it does not. */
static unsigned cluster_blocks(const CUlaunchConfig *config)
{
	for (unsigned i = 0; config->attrs && i < config->numAttrs; i++)
		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			return config->attrs[i].value.clusterDim.x * config->attrs[i].value.clusterDim.y *
			       config->attrs[i].value.clusterDim.z;
	return 0;
}

CUresult api_occupancy_clusters(CALL, int *clusters, CUfunction function, const CUlaunchConfig *config)
{
	unsigned size, threads;
	CUresult result;

	if (!clusters || !config)
		return CUDA_ERROR_INVALID_VALUE;
	size = cluster_blocks(config);
	threads = config->blockDimX * config->blockDimY * config->blockDimZ;
	if (!size || size > CLUSTER_PORTABLE)
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	if (!threads)
		return CUDA_ERROR_INVALID_VALUE;
	result = exists(call, function);
	if (!result)
		*clusters =
			(int)((unsigned)blocks_per_sm((int)threads, config->sharedMemBytes) * MULTIPROCESSORS / size);
	return result;
}
