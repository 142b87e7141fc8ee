/* SPDX-License-Identifier: BSD-2-Clause */
/* depend_search.h: from a stream backwards through all that it stands behind, to what kept its device idle. */
#pragma once

#include "bounds.h"
#include "timeline.h"
#include "values.h"

struct search { /* for what held work up between two instants */
	const struct device_work *devices; size_t n_devices; /* of the whole run */
	const struct values *values; /* of the work's process */
	uint32_t device;             /* the idle one */
	int64_t from_ns, until_ns;
	int steps;                   /* left */
	const struct call *way[DEPEND_WAITS]; uint32_t n_way; /* the waits through which what is looked at holds it up */
	const struct call *unwritten; /* a wait for a value that no write on record ended */
	struct dependency best;       /* of all found, what ended last; best.unknown says whether there may be more */
};

/* Finds what the stream's op number `upto` stands behind, which was put in at before_ns. */
void depend_search(struct search *s, const struct stream_work *w, size_t upto, int64_t before_ns);
