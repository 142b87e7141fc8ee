/* SPDX-License-Identifier: BSD-2-Clause */
/* consistent.h: whether a recording contradicts itself. What does may be read in more than one way, each of them sound. Of the recorder's own some
 * are taken for such: where threads race in a stream, or a poll's begin was rounded. */
#pragma once

#include <stdbool.h>

#include "trace/trace.h"

/* A thread's call is over before its next one begins; a stream's numbers rise with its submissions; and no record names work that nobody had asked for
 * when it began. Of a trace that is not folded. */
bool trace_is_consistent(const struct trace *t);
