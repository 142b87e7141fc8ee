/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_params.c: a node owns what its parameters point to: a kernel's `extra` bytes, a child graph.
 * An array of kernelParams has no length here, because a simulated kernel has no signature: the client's pointer is kept and
 * given back, not what it points to. */
#include "graph_params.h"

#include "graph.h"

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

bool graph_params_copy(CUgraphNodeParams *to, const CUgraphNodeParams *from)
{
	*to = *from;
	if (from->type == CU_GRAPH_NODE_TYPE_KERNEL)
		return extra_copy(&to->kernel.extra, from->kernel.extra);
	return true;
}

void graph_params_free(CUgraphNodeParams *params)
{
	if (params->type == CU_GRAPH_NODE_TYPE_KERNEL)
		free(params->kernel.extra);
	else if (params->type == CU_GRAPH_NODE_TYPE_GRAPH && params->graph.graph)
		graph_free(params->graph.graph);
}
