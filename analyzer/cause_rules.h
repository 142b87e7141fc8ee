/* SPDX-License-Identifier: BSD-2-Clause */
/* cause_rules.h: one pure function per rule of causes.def, each in its own cause_<name>.c. It proposes; it never owns. */
#pragma once

#include "gap_view.h"

#define RULE(name) void cause_##name(const struct gap_view *v, struct findings *out);
#include "causes.def"
#undef RULE
