/* SPDX-License-Identifier: BSD-2-Clause */
/* function.c: what can be asked of a kernel, and said of it. */
#include "function.h"

#include "call.h"
#include "image.h"

enum { REGISTERS = 32, MAX_THREADS = 1024, SHARED_PLAIN = 48 << 10, SHARED_OPT_IN = 227 << 10 };

static size_t shared_limit(const struct function_settings *settings)
{
	return settings->max_dynamic_shared ? (size_t)settings->max_dynamic_shared : SHARED_PLAIN;
}

size_t function_shared_limit(CUfunction function)
{
	return shared_limit(function->settings);
}

CUresult function_read_attribute(const struct function_settings *settings, CUfunction_attribute attribute, int *value)
{
	if (!value || (unsigned)attribute >= CU_FUNC_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
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
		*value = (int)shared_limit(settings);
		break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		*value = settings->carveout;
		break;
	default:
		*value = 0;
	}
	return CUDA_SUCCESS;
}

CUresult function_write_attribute(struct function_settings *settings, CUfunction_attribute attribute, int value)
{
	switch ((int)attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		if (value < 0 || value > SHARED_OPT_IN)
			return CUDA_ERROR_INVALID_VALUE;
		settings->max_dynamic_shared = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		if (value < -1 || value > 100)
			return CUDA_ERROR_INVALID_VALUE;
		settings->carveout = value;
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

/* Of an image that nothing is known of no parameter is known. */
CUresult function_parameter(const struct image *image, const char *name, size_t index, size_t *offset, size_t *bytes)
{
	const struct image_kernel *kernel = image_find(image, name);

	if (!offset || !kernel || index >= kernel->parameter_count)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = kernel->parameters[index].offset;
	if (bytes)
		*bytes = kernel->parameters[index].bytes;
	return CUDA_SUCCESS;
}

/* Takes the lock, which the caller gives back. */
static CUfunction enter(const struct call *call, CUfunction handle)
{
	sim_lock();
	return function_in(handle, call->context);
}

CUresult api_function_attribute(CALL, int *value, CUfunction_attribute attribute, CUfunction function)
{
	CUfunction found = enter(call, function);
	CUresult result =
		found ? function_read_attribute(found->settings, attribute, value) : CUDA_ERROR_INVALID_HANDLE;

	sim_unlock();
	return result;
}

CUresult api_function_set_attribute(CALL, CUfunction function, CUfunction_attribute attribute, int value)
{
	CUfunction found = enter(call, function);
	CUresult result =
		found ? function_write_attribute(found->settings, attribute, value) : CUDA_ERROR_INVALID_HANDLE;

	sim_unlock();
	return result;
}

static CUresult exists(const struct call *call, CUfunction function)
{
	CUfunction found = enter(call, function);

	sim_unlock();
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult api_function_set_cache_config(CALL, CUfunction function, CUfunc_cache config)
{
	return (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE : exists(call, function);
}

CUresult api_function_set_shared_config(CALL, CUfunction function, CUsharedconfig config)
{
	return (unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE
									    : exists(call, function);
}

CUresult api_function_name(CALL, const char **name, CUfunction function)
{
	CUfunction found = enter(call, function);

	if (found && name)
		*name = found->name;
	sim_unlock();
	return !name ? CUDA_ERROR_INVALID_VALUE : found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult api_function_module(CALL, CUmodule *module, CUfunction function)
{
	CUfunction found = enter(call, function);

	if (found && module)
		*module = found->module;
	sim_unlock();
	return !module ? CUDA_ERROR_INVALID_VALUE : found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult api_function_parameter(CALL, CUfunction function, size_t index, size_t *offset, size_t *bytes)
{
	CUfunction found = enter(call, function);
	CUresult result = found ? function_parameter(found->module->image, found->name, index, offset, bytes)
				: CUDA_ERROR_INVALID_HANDLE;

	sim_unlock();
	return result;
}

/* A function is loaded from when it is known. */
CUresult api_function_is_loaded(CALL, CUfunctionLoadingState *state, CUfunction function)
{
	CUresult result = state ? exists(call, function) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*state = CU_FUNCTION_LOADING_STATE_LOADED;
	return result;
}

CUresult api_function_load(CALL, CUfunction function)
{
	return exists(call, function);
}
