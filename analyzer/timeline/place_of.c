/* SPDX-License-Identifier: BSD-2-Clause */
#include "place_of.h"

/* Then its class and its kind of copy are all that there is to say of it in its stream. */
static bool is_common(const struct op_of *of)
{
	return of->count == 1 && !of->measured && !of->node && !of->more && !of->lost;
}

bool place_set_of(struct device_timeline *out, struct op *op, struct place_alike *alike, const struct op_of *of)
{
	const struct op_of **shared = alike && is_common(of) ? &alike->of[of->class][of->copy] : NULL;
	struct op_of *own;

	if (shared && *shared) {
		op->of = *shared;
		return true;
	}
	own = arena_alloc(&out->more, sizeof(*own));
	if (!own)
		return false;
	*own = *of;
	op->of = own;
	if (shared)
		*shared = own;
	return true;
}
