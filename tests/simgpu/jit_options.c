/* SPDX-License-Identifier: BSD-2-Clause */
#include "jit_options.h"

static char **buffer_of(unsigned count, const CUjit_option *options, void **values, CUjit_option which)
{
	for (unsigned i = 0; i < count; i++)
		if (options[i] == which)
			return (char **)&values[i];
	return NULL;
}

/* The size is a number in the place of a pointer: in, how large the buffer is; out, how much was written. */
static void empty_log(unsigned count, const CUjit_option *options, void **values, CUjit_option buffer,
		      CUjit_option size)
{
	char **text = buffer_of(count, options, values, buffer), **bytes = buffer_of(count, options, values, size);

	if (text && *text && bytes && (uintptr_t)*bytes)
		**text = 0;
	if (bytes)
		*bytes = NULL;
}

CUresult jit_options_answer(unsigned count, const CUjit_option *options, void **values)
{
	char **wall;

	if (count && (!options || !values))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++)
		if ((unsigned)options[i] >= CU_JIT_NUM_OPTIONS)
			return CUDA_ERROR_INVALID_VALUE;
	empty_log(count, options, values, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
	empty_log(count, options, values, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
	wall = buffer_of(count, options, values, CU_JIT_WALL_TIME);
	if (wall)
		*wall = NULL; /* a float of 0 milliseconds */
	return CUDA_SUCCESS;
}
