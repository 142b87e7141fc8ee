/* SPDX-License-Identifier: BSD-2-Clause */
#include "html_lanes_names.h"

#include <stdlib.h>

#include "tools/alloc.h"

bool lane_names_begin(struct lane_names *names, size_t n_keys)
{
	*names = (struct lane_names){ .at = array_new(n_keys, sizeof(*names->at)), .n = n_keys };
	return names->at != NULL;
}

void lane_names_add(struct lane_names *names, uint32_t key, const struct lane_slice *s)
{
	struct lane_name *name = key < names->n ? &names->at[key] : NULL;

	if (!name)
		return;
	if (!name->count++ || s->length_ns > name->longest.length_ns)
		name->longest = *s;
}

void lane_names_free(struct lane_names *names)
{
	free(names->at);
	*names = (struct lane_names){ 0 };
}
