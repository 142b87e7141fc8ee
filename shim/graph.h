/* SPDX-License-Identifier: BSD-2-Clause */
/* graph.h: what each executable graph holds, asked of the driver when it is made or updated as a whole, so that a launch is one
 * number. The driver is asked, rather than the calls that add nodes watched: a captured graph is built by no such call, and only the
 * driver knows what a clone, a child graph or an update came to.
 *
 * Until the program's call returns the graph is its own (graphs are not for several threads at once), so the answers belong together.
 * Asking puts nothing into a stream. Lock-free; nothing is allocated but pages for the length of the call. */
#pragma once

#include "hooks.h"
#include "thread.h"

/* Writes down what `graph` holds as the contents of exec; base: the structure it replaces, 0 none; call_ticks: what the program's call
 * took, of which the questions may take a share. */
void graph_describe(struct thread *t, CUgraphExec exec, CUgraph graph, uint32_t base, bool open, uint64_t call_ticks);

/* exec holds what it held, but for names and sizes. */
void graph_same(struct thread *t, CUgraphExec exec, uint32_t base);

/* The structure of an executable graph; 0 not known. */
uint32_t graph_of(CUgraphExec exec);

/* The handle is free for another graph from now on; returns the structure, for graph_keep if it was not after all. */
uint32_t graph_drop(CUgraphExec exec);
void graph_keep(CUgraphExec exec, uint32_t id);

void graphs_forget(void);
