/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was in a loader that does the work itself, by another tool's word. What workers do, chains prove. */
#include "cause_rules.h"

#include "cause_loader.h"

void cause_input_preprocess(const struct gap_view *v, struct findings *out)
{
	loader_findings(v, out, CAUSE_input_preprocess, AT_WORKING_LOADER, "loading the batch itself");
}
