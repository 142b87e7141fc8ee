/* SPDX-License-Identifier: BSD-2-Clause */
/* shim_edge.h: shim/edge.c, whose count of edges tests set, and a launch as the program would make it. */
#pragma once

#include "shim/edge.c"
#include "tests/unit/shim_driver.h"

/* One launch, as the program would make it, without a helper thread. */
static struct stream *launch(CUstream handle)
{
	struct stream *s = stream_get(me, handle);

	assert_non_null(s);
	edge_before_submit(me, s, 0);
	s->entered++;
	s->returned++;
	stream_submitted(s);
	return s;
}
