/* SPDX-License-Identifier: BSD-2-Clause */
/* tracepoints.h: an LTTng-UST pair that carries what one of our records does. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER gpushim_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/bench/tracepoints.h"

#if !defined(TRACEPOINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TRACEPOINTS_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(gpushim_bench, enter,
	LTTNG_UST_TP_ARGS(uint16_t, hook, uint32_t, stream, uint32_t, name, uint64_t, arg0, uint64_t, arg1),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint16_t, hook, hook)
		lttng_ust_field_integer(uint32_t, stream, stream)
		lttng_ust_field_integer(uint32_t, name, name)
		lttng_ust_field_integer(uint64_t, arg0, arg0)
		lttng_ust_field_integer(uint64_t, arg1, arg1)))

LTTNG_UST_TRACEPOINT_EVENT(gpushim_bench, leave,
	LTTNG_UST_TP_ARGS(uint16_t, hook, uint32_t, seq, int32_t, result),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint16_t, hook, hook)
		lttng_ust_field_integer(uint32_t, seq, seq)
		lttng_ust_field_integer(int32_t, result, result)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
