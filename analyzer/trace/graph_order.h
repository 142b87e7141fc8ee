/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_order.h: a graph's nodes in an order that respects its dependencies, and the longest way through it. */
#pragma once

#include "graphs.h"

/* Sorts g->nodes and sets g->levels. known: the edges are all there; else, and where they contradict each other, the order stays and
 * any node may stand behind any other. False: no memory. */
bool graph_order(struct graph *g, const struct gst_graph_edge *edges, size_t n_edges, bool known);
