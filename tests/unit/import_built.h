/* SPDX-License-Identifier: BSD-2-Clause */
/* import_built.h: what import_build made of the facts that a test told it. forget() is every test's teardown. */
#pragma once

#include <stdlib.h>

#include "import/import_build.h"

#define T(text) ((struct import_text){ text, sizeof(text) - 1 })

static struct import_build *build;
static struct trace **traces;
static size_t n_traces;

static int forget(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_traces; i++)
		trace_free(traces[i]);
	free(traces);
	traces = NULL;
	n_traces = 0;
	import_build_free(build);
	build = NULL;
	return 0;
}
