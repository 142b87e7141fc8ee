/* SPDX-License-Identifier: BSD-2-Clause */
/* idle_piece.h: a stretch in which a model of the device (replay.h) has nothing to do. No proof: it says where idle time is likely. */
#pragma once

#include "trace.h"

struct idle_piece {
	int64_t begin_ns, end_ns;
	const struct call *next;   /* whose work ends it, NULL none */
	const struct trace *trace; /* that call's */
};

struct idle_pieces {
	struct idle_piece *at;
	size_t n, cap;
};
