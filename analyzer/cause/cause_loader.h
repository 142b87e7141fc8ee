/* SPDX-License-Identifier: BSD-2-Clause */
/* cause_loader.h: the thread was in its loader, as another tool's trace names it (loader_names.def). */
#pragma once

#include "cause_rules.h"
#include "gap/gap_view_ops.h"

/* That cause, inferred, for all stretches of the kind. */
void loader_findings(const struct gap_view *v, struct findings *out, enum cause_id cause, enum at_what what, const char *state);
