/* SPDX-License-Identifier: BSD-2-Clause */
/* The LTTng-UST pair as a library of its own, so that the benchmark builds and runs where LTTng is not. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tracepoints.h"

#include <stdbool.h>

bool tracepoints_enabled(void);
void tracepoints_loop(int n);

bool tracepoints_enabled(void)
{
	return lttng_ust_tracepoint_enabled(gpushim_bench, enter) && lttng_ust_tracepoint_enabled(gpushim_bench, leave);
}

void tracepoints_loop(int n)
{
	for (int i = 0; i < n; i++) {
		lttng_ust_tracepoint(gpushim_bench, enter, 7, 1, 2, (uint64_t)i, 0);
		lttng_ust_tracepoint(gpushim_bench, leave, 7, (uint32_t)i, 0);
	}
}
