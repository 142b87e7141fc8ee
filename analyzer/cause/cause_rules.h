/* SPDX-License-Identifier: BSD-2-Clause */
/* cause_rules.h: one pure function per rule of causes.def, each in its own cause_<name>.c. It proposes; it never owns. */
#pragma once

#include "gap/gap_view.h"

#define CAUSE(name, id, title, advice)
#define CAUSE_RULE(name, id, title, advice) void cause_##name(const struct gap_view *v, struct findings *out);
#include "causes.def"

/* All that the host probes prove, of any cause. */
void cause_chain(const struct gap_view *v, struct findings *out);
