/* SPDX-License-Identifier: BSD-2-Clause */
/* place_of.h: what ops are operations of, kept once for all that are alike: nine in ten are kernels that a plain launch put into a stream. */
#pragma once

#include "timeline.h"

/* Of one stream's placed ops that stand for one operation each; zeroed before its first. */
struct place_alike {
	const struct op_of *of[OP_HOSTFN + 1][GST_COPY_H2H + 1];
};

/* Sets op.of to these words, which live as long as the timeline; alike NULL: to words of its own. False: no memory. */
bool place_set_of(struct device_timeline *out, struct op *op, struct place_alike *alike, const struct op_of *of);
