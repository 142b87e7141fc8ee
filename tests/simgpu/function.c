/* SPDX-License-Identifier: BSD-2-Clause */
/* function.c: what can be asked of a kernel. */
#include "call.h"
#include "function.h"

enum {
	REGISTERS = 32,
	MAX_THREADS = 1024,
	SHARED_PLAIN = 48 << 10,
	SHARED_OPT_IN = 227 << 10,
	SHARED_PER_SM = 228 << 10,
	THREADS_PER_SM = 2048,
	BLOCKS_PER_SM = 32
};

bool function_valid(CUfunction function)
{
	bool valid;

	sim_lock();
	valid = slab_holds(&function_slab, function);
	sim_unlock();
	return valid;
}

size_t function_shared_limit(CUfunction function)
{
	return function->max_dynamic_shared ? (size_t)function->max_dynamic_shared : SHARED_PLAIN;
}

CUresult api_function_attribute(CALL, int *value, CUfunction_attribute attribute, CUfunction function)
{
	if (!value || (unsigned)attribute >= CU_FUNC_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (!function_valid(function))
		return CUDA_ERROR_INVALID_HANDLE;
	switch ((int)attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*value = MAX_THREADS;
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*value = REGISTERS;
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*value = 90;
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*value = (int)function_shared_limit(function);
		break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		*value = function->carveout;
		break;
	default:
		*value = 0;
	}
	return CUDA_SUCCESS;
}

CUresult api_function_set_attribute(CALL, CUfunction function, CUfunction_attribute attribute, int value)
{
	if (!function_valid(function))
		return CUDA_ERROR_INVALID_HANDLE;
	switch ((int)attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		if (value < 0 || value > SHARED_OPT_IN)
			return CUDA_ERROR_INVALID_VALUE;
		function->max_dynamic_shared = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		if (value < -1 || value > 100)
			return CUDA_ERROR_INVALID_VALUE;
		function->carveout = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult api_function_set_cache_config(CALL, CUfunction function, CUfunc_cache config)
{
	if (!function_valid(function))
		return CUDA_ERROR_INVALID_HANDLE;
	return (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult api_function_name(CALL, const char **name, CUfunction function)
{
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!function_valid(function))
		return CUDA_ERROR_INVALID_HANDLE;
	*name = function->name;
	return CUDA_SUCCESS;
}

CUresult api_function_module(CALL, CUmodule *module, CUfunction function)
{
	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	if (!function_valid(function))
		return CUDA_ERROR_INVALID_HANDLE;
	*module = function->module;
	return CUDA_SUCCESS;
}

/* Threads, blocks and shared memory bound it; registers never do at 32 a thread. */
CUresult api_occupancy_flags(CALL, int *blocks, CUfunction function, int block_size, size_t shared, unsigned int flags)
{
	int most;

	if (!blocks || block_size <= 0 || (flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE))
		return CUDA_ERROR_INVALID_VALUE;
	if (!function_valid(function))
		return CUDA_ERROR_INVALID_HANDLE;
	most = block_size > MAX_THREADS ? 0 : THREADS_PER_SM / block_size;
	if (most > BLOCKS_PER_SM)
		most = BLOCKS_PER_SM;
	if (shared && (size_t)most > SHARED_PER_SM / (shared + 1024))
		most = (int)(SHARED_PER_SM / (shared + 1024));
	*blocks = most;
	return CUDA_SUCCESS;
}

CUresult api_occupancy(CALL, int *blocks, CUfunction function, int block_size, size_t shared)
{
	return api_occupancy_flags(call, blocks, function, block_size, shared, 0);
}
