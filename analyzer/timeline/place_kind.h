/* SPDX-License-Identifier: BSD-2-Clause */
/* place_kind.h: what kind of work an operation is, from its call, its graph's node, or what was measured of it. */
#pragma once

#include "timeline.h"

enum op_class place_class_of_call(const struct call *c, const struct trace *t);
enum op_class place_class_of_node(const struct graph_node *n, const struct trace *t);
enum op_class place_class_of_measured(const struct measured *m, const struct call *c, const struct trace *t);
