/* SPDX-License-Identifier: BSD-2-Clause */
/* loader.h: what loader_linked's processes do with a batch's index. */
#pragma once

#include "lab.h"

struct loader_options {
	long workers, epochs, batches, ms, depth, kill;
	const char *work;
};

bool loader_options_read(struct loader_options *o, int argc, char **argv);
/* Of the work a batch is: the cause, and which part of which file. */
struct span loader_span(const struct loader_options *o, const char *role, long batch);
/* A worker whose parent is killed does not go on. */
void loader_end_with_parent(void);
/* Until `in` ends: an index from there, its work done, here or by a child where depth > 1, and the index to `out`. */
void loader_serve(const struct loader_options *o, long depth, int in, int out, char *place, size_t size);
