/* SPDX-License-Identifier: BSD-2-Clause */
/* consistent.h: whether a recording contradicts itself, as the recorder's never do. What does may be read in more than one way, each of them sound. */
#pragma once

#include <stdbool.h>

#include "trace.h"

/* A thread's call is over before its next one begins; a stream's numbers rise with its submissions; and no record names work that nobody had asked for
 * when it ended. Of a trace that is not folded. */
bool trace_is_consistent(const struct trace *t);
