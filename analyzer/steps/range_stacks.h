/* SPDX-License-Identifier: BSD-2-Clause */
/* range_stacks.h: which NVTX ranges a thread was in, at any time: a path in a tree of all paths there are ("forward > attention").
 *
 * A path begins below the step, if the thread is in one: the same phase of all steps is one node. Numbers at the end of names are part of
 * them where there are few ("layer 3"), and left out where they count on ("batch 1234" is "batch #"). */
#pragma once

#include "steps.h"
#include "tools/arena.h"

#define PATH_NONE 0 /* node: in no range */
#define PATH_STEP 1 /* node: in a step, and in nothing below it */

struct path_node {
	uint32_t parent;
	bool in_step;
	const char *name; /* clean, "layer 3" */
};

struct range_change { /* from at_ns on the thread is there */
	int64_t at_ns;
	uint32_t node;
	const struct range *innermost; /* NULL: none */
};

struct thread_ranges {
	const struct trace *trace;
	uint32_t tid;
	size_t first, n; /* in range_stacks.changes */
	size_t near;     /* the one that was looked at last, from first */
};

struct range_stacks {
	const struct steps *steps; /* borrowed */
	struct path_node *nodes; size_t n_nodes, cap_nodes;
	uint32_t *places; size_t n_places; /* a hash table of nodes */
	struct range_change *changes; size_t n_changes, cap_changes;
	struct thread_ranges *threads; size_t n_threads, cap_threads; /* by trace and tid */
	size_t near_thread, near_step; /* those that were looked at last */
	struct arena arena; /* names */
};

enum err_kind range_stacks_build(struct range_stacks *out, const struct run *run, const struct steps *steps, struct error *e);
void range_stacks_free(struct range_stacks *s);

struct in_ranges { /* where a thread is, up to until_ns */
	int64_t until_ns;
	uint32_t node;
	const struct range *innermost; /* NULL none */
	const struct step *step;       /* NULL none */
};

/* A thread that is in no step (autograd's, NCCL's) is in what its process's training thread is in, and then in its own. False: no memory. */
bool range_stacks_at(struct range_stacks *s, const struct trace *trace, uint32_t tid, int64_t ns, struct in_ranges *out);

/* "forward > attention", "" of PATH_NONE and PATH_STEP. */
const char *range_path(char *buf, size_t size, const struct range_stacks *s, uint32_t node);
/* Its names, outermost first, at most max of them; how many. */
size_t range_path_names(const char **names, size_t max, const struct range_stacks *s, uint32_t node);
