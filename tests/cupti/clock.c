/* SPDX-License-Identifier: BSD-2-Clause */
/* The truth is in CLOCK_MONOTONIC. CUPTI's own clock is another one, and the client may give it a third. */
#include "standin.h"

static const uint64_t own_offset_ns = 1700000000000000000ull;
static cupti_clock *client_clock;

static uint64_t client_offset(void)
{
	return client_clock ? client_clock() - clock_now_ns() : own_offset_ns;
}

/* A client whose clock is CLOCK_MONOTONIC has the truth, to the nanosecond: the two reads are some tens of nanoseconds apart. */
uint64_t clock_of(uint64_t mono_ns)
{
	uint64_t offset = client_offset();

	return (int64_t)offset > -1000000 && (int64_t)offset < 1000000 ? mono_ns : mono_ns + offset;
}

int cuptiActivityRegisterTimestampCallback(cupti_clock *clock)
{
	if (option("no-clock"))
		return CUPTI_ERROR_INVALID_OPERATION;
	client_clock = clock;
	return clock ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

int cuptiGetTimestamp(uint64_t *ns)
{
	*ns = clock_of(clock_now_ns());
	return CUPTI_SUCCESS;
}
