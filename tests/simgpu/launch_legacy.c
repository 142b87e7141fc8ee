/* SPDX-License-Identifier: BSD-2-Clause */
/* launch_legacy.c: launching as in CUDA 3: the shape and the parameters are set at the function, then it is launched. */
#include "call.h"
#include "function.h"
#include "launch.h"

enum { MAX_PARAMETER_BYTES = 4096 };

/* Runs with the lock, on the legacy state of a function. */
#define LEGACY_SETTER(noun, params, valid, statement)                                \
	CUresult api_##noun params                                                   \
	{                                                                            \
		CUresult result = (valid) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; \
		struct function_legacy *legacy;                                      \
		CUfunction found;                                                    \
                                                                                     \
		sim_lock();                                                          \
		found = function_in(f, call->context);                               \
		if (!found)                                                          \
			result = CUDA_ERROR_INVALID_HANDLE;                          \
		if (!result) {                                                       \
			legacy = &found->legacy;                                     \
			statement;                                                   \
		}                                                                    \
		sim_unlock();                                                        \
		return result;                                                       \
	}

LEGACY_SETTER(function_set_block, (CALL, CUfunction f, int x, int y, int z), x > 0 && y > 0 && z > 0,
	      (legacy->bx = x, legacy->by = y, legacy->bz = z))
LEGACY_SETTER(function_set_shared, (CALL, CUfunction f, unsigned int bytes), true, legacy->shared = bytes)
LEGACY_SETTER(parameters_size, (CALL, CUfunction f, unsigned int bytes), bytes <= MAX_PARAMETER_BYTES,
	      legacy->parameter_bytes = bytes)

/* Kernels compute nothing, so of a parameter only its place is looked at. */
static CUresult check_parameter(const struct call *call, CUfunction f, int offset, const void *value, size_t bytes)
{
	CUfunction found;

	sim_lock();
	found = function_in(f, call->context);
	sim_unlock();
	if (!found)
		return CUDA_ERROR_INVALID_HANDLE;
	return !value || offset < 0 || bytes > MAX_PARAMETER_BYTES || (size_t)offset > MAX_PARAMETER_BYTES - bytes
		       ? CUDA_ERROR_INVALID_VALUE
		       : CUDA_SUCCESS;
}

CUresult api_parameter_int(CALL, CUfunction f, int offset, unsigned int value)
{
	return check_parameter(call, f, offset, &value, sizeof(value));
}

CUresult api_parameter_float(CALL, CUfunction f, int offset, float value)
{
	return check_parameter(call, f, offset, &value, sizeof(value));
}

CUresult api_parameter_bytes(CALL, CUfunction f, int offset, void *value, unsigned int bytes)
{
	return check_parameter(call, f, offset, value, bytes);
}

CUresult api_launch_legacy_async(CALL, CUfunction f, int width, int height, CUstream s)
{
	struct function_legacy legacy = { 0 };
	CUfunction found;

	sim_lock();
	found = function_in(f, call->context);
	if (found)
		legacy = found->legacy;
	sim_unlock();
	if (width <= 0 || height <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	return api_launch(call, f, (unsigned)width, (unsigned)height, 1, (unsigned)legacy.bx, (unsigned)legacy.by,
			  (unsigned)legacy.bz, legacy.shared, s, NULL, NULL);
}

CUresult api_launch_legacy_grid(CALL, CUfunction f, int width, int height)
{
	return api_launch_legacy_async(call, f, width, height, NULL);
}

CUresult api_launch_legacy(CALL, CUfunction f)
{
	return api_launch_legacy_async(call, f, 1, 1, NULL);
}
