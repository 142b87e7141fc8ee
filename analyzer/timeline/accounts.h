/* SPDX-License-Identifier: BSD-2-Clause */
/* accounts.h: what a thread did inside a call that may block, but for waiting: its own accounts (GST_USAGE) and the recorder's edges
 * tell. */
#pragma once

#include "trace/trace.h"

struct accounts {
	const struct usage **usages; /* by thread, then time */
	const struct edge **edges;   /* by thread, then begin */
	const struct trace *t;
};

bool accounts_find(struct accounts *a, const struct trace *t); /* false: no memory */
void accounts_free(struct accounts *a);

/* The call returned at most so long after what it waited for was over: WAKE_NS plus what the thread may have been without a CPU, by its
 * accounts around the wait. INT64_MAX: they do not say, or it waited for a page of memory to be read from a disk; then the call's length
 * proves nothing. */
int64_t accounts_wake_ns(const struct accounts *a, const struct call *c);

/* When a copy that makes the host wait was handed to the driver: at the last account the recorder takes inside the call, with all
 * of its own work behind it. INT64_MIN: no account says when. */
int64_t accounts_handed_ns(const struct accounts *a, const struct call *c);

/* When the driver was asked to wait, at the earliest: behind the edges that the recorder put in front, inside the call, and behind the
 * thread's accounts. */
int64_t accounts_asked_ns(const struct accounts *a, const struct call *c);
