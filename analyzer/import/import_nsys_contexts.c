/* SPDX-License-Identifier: BSD-2-Clause */
/* import_nsys_contexts.c: which device a context is of, by the work in it. Nsight says 0 of each synchronisation, whatever the device
 * (2026.2.1), but the right context. */
#include "import_nsys_parts.h"
#include "tools/alloc.h"

#define CONTEXTS_MOST 1024 /* of all processes; of more nothing is known */

uint64_t nsys_context(const struct nsys_rows *r, unsigned column)
{
	int64_t context = nsys_rows_int(r, column, 0);

	return context <= 0 || context == UINT32_MAX ? 0 : (uint64_t)context; /* CUPTI's word for none */
}

static struct nsys_context *find(struct nsys *n, uint64_t pid, uint64_t context)
{
	for (size_t i = 0; i <= n->n_contexts; i++) {
		size_t k = i ? i - 1 : n->context; /* the one asked for last comes first */

		if (k < n->n_contexts && n->contexts[k].context == context && n->contexts[k].pid == pid) {
			n->context = k;
			return &n->contexts[k];
		}
	}
	return NULL;
}

void nsys_context_see(struct nsys *n, uint64_t pid, uint64_t context, uint32_t device)
{
	struct nsys_context *c = context && device != IMPORT_NO_DEVICE ? find(n, pid, context) : NULL;

	if (c && c->device != device)
		c->device = IMPORT_NO_DEVICE; /* it is no number of one context */
	if (c || !context || device == IMPORT_NO_DEVICE || n->n_contexts >= CONTEXTS_MOST)
		return;
	if (array_room(n->contexts, n->n_contexts, n->cap_contexts))
		n->contexts[n->n_contexts++] = (struct nsys_context){ pid, context, device };
	else
		n->no_memory = true;
}

uint32_t nsys_context_device(struct nsys *n, uint64_t pid, uint64_t context, uint32_t otherwise)
{
	const struct nsys_context *c = context ? find(n, pid, context) : NULL;

	return c && c->device != IMPORT_NO_DEVICE ? c->device : otherwise;
}
