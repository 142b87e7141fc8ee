/* SPDX-License-Identifier: BSD-2-Clause */
/* The truth is in CLOCK_MONOTONIC. CUPTI's own clock is CLOCK_REALTIME, and the client may give it a third, for good. */
#include "standin.h"

#include <time.h>

static cupti_clock *client_clock;

/* Read once: times of one run differ by nothing but what happened between them. */
static uint64_t own_offset_ns;

__attribute__((constructor)) static void clock_start(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	own_offset_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - clock_now_ns();
}

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
