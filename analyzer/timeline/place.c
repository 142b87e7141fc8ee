/* SPDX-License-Identifier: BSD-2-Clause */
#include "place.h"

#include "partition.h"
#include "place_exact.h"
#include "place_fill.h"
#include "place_make.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/pool.h"

#include <stdlib.h>
#include <string.h>

static enum err_kind no_memory(struct error *e)
{
	return err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");
}

/* ---- neighbours of the gaps ------------------------------------------------------------------------- */

/* How far behind the gap's end work is looked at for the one that ends it: by its place, which is the same for launches that are folded and for those that
 * are not. So many operations at most: what very many in one instant take. */
#define LOOK_AHEAD_NS 200000
#define LOOK_AHEAD ((size_t)1 << 16)

/* Of those that may have begun where the gap ends, as far as that is known: the one that could begin first. first: the first in order of
 * their places, which say nothing within the error of the gap's end. */
static const struct op *that_ends(const struct device_timeline *out, const struct gap *gap, size_t first)
{
	const struct op *best = &out->ops[first];
	int64_t by_ns = sum64(gap->end_ns, gap->end_error_ns);
	int64_t until_ns = sum64(by_ns, LOOK_AHEAD_NS);

	for (size_t i = first + 1; i < out->n_ops && i - first < LOOK_AHEAD && !best->of->exact; i++) {
		const struct op *op = &out->ops[i];

		if (op->begin_ns > until_ns)
			break;
		if (op->of->class != OP_HOSTFN && !op->of->exact && op->stretch_begin_ns <= by_ns &&
		    op->stretch_begin_ns < best->stretch_begin_ns)
			best = op;
	}
	return best;
}

/* What is next to a gap is one launch, also where it is told with others: the first one behind the gap, the last one before it. NULL: no memory. */
static const struct op *alone(struct device_timeline *out, const struct op *op, bool first, size_t *near)
{
	struct op *one;
	struct call *call;

	if (!op || call_count(op->call) == 1)
		return op;
	one = arena_alloc(&out->more, sizeof(*one));
	call = arena_alloc(&out->more, sizeof(*call));
	if (!one || !call)
		return NULL;
	*call = launch_call(op->of->trace, op->call, first ? 0 : op->call->folded, near);
	*one = *op;
	one->call = call;
	return one;
}

/* False: no memory. */
static bool find_neighbours(struct device_timeline *out)
{
	const struct op *last = NULL; /* the running maximum of ends, not the last begun: streams overlap */
	size_t before = 0, after = 0, near = 0;

	for (size_t i = 0; i < out->n_gaps; i++) {
		struct gap *gap = &out->gaps[i];

		for (; before < out->n_ops && out->ops[before].begin_ns <= gap->begin_ns; before++)
			if (out->ops[before].of->class != OP_HOSTFN &&
			    (!last || out->ops[before].end_ns >= last->end_ns))
				last = &out->ops[before];
		gap->before = alone(out, last, false, &near);
		while (after < out->n_ops &&
		       (out->ops[after].begin_ns < gap->end_ns || out->ops[after].of->class == OP_HOSTFN))
			after++;
		gap->after = after < out->n_ops ? alone(out, that_ends(out, gap, after), true, &near) : NULL;
		if ((last && !gap->before) || (after < out->n_ops && !gap->after))
			return false;
	}
	return true;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

#define MARKS 64 /* gaps from one to the next */

static bool set_partition(struct device_timeline *out)
{
	struct partition all;

	if (!partition_mark(out, MARKS) || !partition_of(&all, out, out->begin_ns, out->end_ns))
		return false;
	out->compute_ns = all.compute_ns;
	out->comm_ns = all.comm_ns;
	out->memset_ns = all.memset_ns;
	memcpy(out->copy_ns, all.copy_ns, sizeof(out->copy_ns));
	return true;
}

/* Neither asks for what the other finds. */
enum part { PART_PARTITION, PART_NEIGHBOURS, PARTS };

static enum err_kind find_part(void *device, size_t part, struct error *e)
{
	struct device_timeline *out = device;

	if (part == PART_PARTITION)
		return set_partition(out) ? ERR_NONE : no_memory(e);
	if (!find_neighbours(out))
		return no_memory(e);
	place_exact_errors(out);
	return ERR_NONE;
}

enum err_kind place_ops(struct device_timeline *out, const struct device_work *d, struct error *e)
{
	return place_make(out, d) && place_fill(out) ? pool_run(PARTS, find_part, out, e) : no_memory(e);
}
