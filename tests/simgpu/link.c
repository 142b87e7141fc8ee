/* SPDX-License-Identifier: BSD-2-Clause */
/* link.c: linking. The result is the inputs one behind the other: as much a module as any other image, and PTX if they were. */
#include "call.h"
#include "jit_options.h"
#include "slab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CUlinkState_st {
	char *image; /* ends with a NUL that is not counted */
	size_t bytes;
	unsigned option_count;
	CUjit_option *options; /* the caller's, good until the state is destroyed */
	void **values;
};

static struct slab state_slab = SLAB(struct CUlinkState_st, 1 << 12);

CUresult api_link_create(CALL, unsigned int count, CUjit_option *options, void **values, CUlinkState *state)
{
	CUlinkState made;

	if (!state || (count && (!options || !values)))
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	made = slab_take(&state_slab);
	if (made)
		*made = (struct CUlinkState_st){ .option_count = count, .options = options, .values = values };
	sim_unlock();
	*state = made;
	return made ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult append(CUlinkState state, const void *data, size_t bytes)
{
	char *grown;

	if (!slab_holds(&state_slab, state))
		return CUDA_ERROR_INVALID_HANDLE;
	grown = realloc(state->image, state->bytes + bytes + 1);
	if (!grown)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(grown + state->bytes, data, bytes);
	state->image = grown;
	state->bytes += bytes;
	grown[state->bytes] = 0;
	return CUDA_SUCCESS;
}

static bool input_valid(CUjitInputType type, unsigned count, const CUjit_option *options, void **values)
{
	return (unsigned)type < CU_JIT_NUM_INPUT_TYPES && (!count || (options && values));
}

CUresult api_link_add_data(CALL, CUlinkState state, CUjitInputType type, void *data, size_t bytes, const char *name,
			   unsigned int count, CUjit_option *options, void **values)
{
	CUresult result;

	(void)name;
	if (!data || !bytes || !input_valid(type, count, options, values))
		return CUDA_ERROR_INVALID_VALUE;
	if (type == CU_JIT_INPUT_PTX && !((const char *)data)[bytes - 1])
		bytes--; /* text may come with its NUL */
	sim_lock();
	result = append(state, data, bytes);
	sim_unlock();
	return result;
}

CUresult api_link_add_file(CALL, CUlinkState state, CUjitInputType type, const char *path, unsigned int count,
			   CUjit_option *options, void **values)
{
	CUresult result = CUDA_SUCCESS;
	char piece[4096];
	size_t bytes;
	FILE *file;

	if (!path || !input_valid(type, count, options, values))
		return CUDA_ERROR_INVALID_VALUE;
	file = fopen(path, "rb");
	if (!file)
		return CUDA_ERROR_FILE_NOT_FOUND;
	sim_lock();
	while (!result && (bytes = fread(piece, 1, sizeof(piece), file)) > 0)
		result = append(state, piece, bytes);
	sim_unlock();
	fclose(file);
	return result;
}

CUresult api_link_complete(CALL, CUlinkState state, void **image, size_t *bytes)
{
	CUresult result = CUDA_ERROR_INVALID_HANDLE;

	if (!image)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (slab_holds(&state_slab, state)) {
		result = state->image ? jit_options_answer(state->option_count, state->options, state->values)
				      : CUDA_ERROR_INVALID_VALUE; /* nothing was added */
		*image = state->image;
		if (bytes)
			*bytes = state->bytes;
	}
	sim_unlock();
	return result;
}

CUresult api_link_destroy(CALL, CUlinkState state)
{
	CUresult result = CUDA_ERROR_INVALID_HANDLE;

	sim_lock();
	if (slab_holds(&state_slab, state)) {
		free(state->image);
		slab_give(&state_slab, state);
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}
