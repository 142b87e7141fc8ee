/* SPDX-License-Identifier: BSD-2-Clause */
/* busy_lists.h: what the lists of streams with work (GST_BUSY) say of each stream. */
#pragma once

#include "trace.h"

struct busy_lists {
	const struct trace *t;
	struct naming *namings; /* by stream, then list */
	size_t n_namings;
	size_t *next
		[2]; /* by list: the next one, itself included, that speaks of streams it does not name: [1] of destroyed ones too */
};

bool busy_lists_new(struct busy_lists *out, const struct trace *t); /* false: no memory; to be freed all the same */
void busy_lists_free(struct busy_lists *b);

/* The time of the first list from from_ns on that says the stream had no work; INT64_MAX: none. destroyed: the stream may be one that
 * was destroyed with work. */
int64_t busy_lists_idle(const struct busy_lists *b, uint32_t stream, int64_t from_ns, bool destroyed);
