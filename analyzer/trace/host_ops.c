/* SPDX-License-Identifier: BSD-2-Clause */
#include "host_ops.h"

#include "tools/alloc.h"

static bool of_lower_thread(const void *element, const void *key)
{
	return ((const struct host_op *)element)->tid < *(const uint32_t *)key;
}

static bool up_to_thread(const void *element, const void *key)
{
	return ((const struct host_op *)element)->tid <= *(const uint32_t *)key;
}

const struct host_op *host_ops_of(const struct host_ops *o, uint32_t tid, size_t *n)
{
	size_t first = array_first(o->at, o->n, sizeof(*o->at), of_lower_thread, &tid);

	*n = array_first(o->at, o->n, sizeof(*o->at), up_to_thread, &tid) - first;
	return *n ? o->at + first : NULL;
}
