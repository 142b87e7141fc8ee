/* SPDX-License-Identifier: BSD-2-Clause */
/* cause_engine.h: one gap after another: rules propose, each nanosecond gets its owner, and what is told of it is kept. */
#pragma once

#include "cause.h"
#include "gap/gap_view.h"

struct cause_piece { /* owned interval, by index of its finding; SIZE_MAX: nobody's */
	int64_t begin_ns, end_ns;
	size_t owner;
};

struct cause_engine { /* zeroed but for the first two */
	const struct threads *threads;
	int64_t doubt_from_ns;
	/* scratch, used again for each gap */
	struct gap_view view;
	struct findings found;
	size_t *heap;
	size_t n_heap, cap_heap;
	struct cause_piece *pieces;
	size_t n_pieces, cap_pieces;
	struct gap_cause *causes;
	size_t n_causes, cap_causes;
	const struct chain_segment *last_way; /* of the newest interval of the gap's story */
	/* the result so far */
	int64_t causes_ns[CAUSE_COUNT], observed_ns[CAUSE_COUNT];
	struct arena arena;
};

/* False: no memory. */
bool cause_explain(struct cause_engine *g, const struct device_timeline *d, const struct gap *gap, struct gap_story *story);
void cause_engine_free(struct cause_engine *g);
