/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_kernel.c: the arguments are copied when the node is made: the bytes of `extra`, or what kernelParams points to where the
 * kernel's parameters are known, which is of PTX alone. Of any other kernel the client's array is kept and given back, not what
 * it points to. */
#include "graph_kernel.h"

#include "image.h"
#include "launch.h"

#include <stdlib.h>
#include <string.h>

enum { EXTRA_WORDS = 16 }; /* an `extra` array this long has lost its end */

/* What `extra` becomes in a node: one block. */
struct extra_copy {
	void *words[5];
	size_t bytes;
	unsigned char buffer[];
};

/* False: not an array as cuLaunchKernel documents it. */
static bool extra_parse(void **extra, const void **buffer, size_t *bytes)
{
	*buffer = NULL;
	*bytes = 0;
	for (unsigned i = 0; i < EXTRA_WORDS; i += 2) {
		if (extra[i] == CU_LAUNCH_PARAM_END)
			return true;
		if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			*buffer = extra[i + 1];
		else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			*bytes = *(const size_t *)extra[i + 1];
		else
			return false;
	}
	return false;
}

static bool extra_copy(void ***to, void **from)
{
	const void *buffer;
	struct extra_copy *copy;
	size_t bytes;

	if (!from || !extra_parse(from, &buffer, &bytes)) {
		*to = NULL;
		return true;
	}
	copy = malloc(sizeof(*copy) + bytes);
	if (!copy)
		return false;
	copy->bytes = bytes;
	if (buffer)
		memcpy(copy->buffer, buffer, bytes);
	copy->words[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
	copy->words[1] = copy->buffer;
	copy->words[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
	copy->words[3] = &copy->bytes;
	copy->words[4] = CU_LAUNCH_PARAM_END;
	*to = copy->words;
	return true;
}

CUresult graph_kernel_check(const CUDA_KERNEL_NODE_PARAMS_v3 *kernel)
{
	const void *buffer;
	size_t bytes;

	if (kernel->extra && !extra_parse(kernel->extra, &buffer, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	return launch_check(kernel);
}

/* What kernelParams becomes: the array and what it points to in one block. */
static bool arguments_copy(CUgraphNodeParams *to, CUfunction f)
{
	const struct image_kernel *kernel = image_find(f->module->image, f->name);
	void **from = to->kernel.kernelParams;
	size_t bytes = 0;
	void **copy;
	char *at;

	to->reserved2 = 0;
	if (!from || !kernel || !kernel->parameter_count)
		return true;
	for (unsigned i = 0; i < kernel->parameter_count; i++)
		bytes += kernel->parameters[i].bytes;
	copy = malloc(kernel->parameter_count * sizeof(void *) + bytes);
	if (!copy)
		return false;
	at = (char *)(copy + kernel->parameter_count);
	for (unsigned i = 0; i < kernel->parameter_count; i++) {
		copy[i] = memcpy(at, from[i], kernel->parameters[i].bytes);
		at += kernel->parameters[i].bytes;
	}
	to->kernel.kernelParams = copy;
	to->reserved2 = 1; /* the array is the node's; nobody outside sees this field */
	return true;
}

/* A kernel that belongs to no context gets the one that is current now. */
bool graph_kernel_copy(CUgraphNodeParams *to, const CUgraphNodeParams *from)
{
	CUfunction f = launch_function(&from->kernel);

	to->kernel.extra = NULL;
	if (f) {
		to->kernel.ctx = f->module->context;
		if (!arguments_copy(to, f))
			return false;
	} else { /* unloaded since: nothing is known of it any more */
		to->kernel.kernelParams = NULL;
		to->reserved2 = 0;
	}
	return extra_copy(&to->kernel.extra, from->kernel.extra);
}

void graph_kernel_free(CUgraphNodeParams *params)
{
	if (params->reserved2)
		free(params->kernel.kernelParams);
	free(params->kernel.extra);
}
