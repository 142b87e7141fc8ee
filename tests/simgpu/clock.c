/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.c: waiting on CLOCK_MONOTONIC, and the device's own clock. */
#include "settings.h"
#include "sim.h"

#include <errno.h>
#include <math.h>

void clock_sleep_until(uint64_t ns)
{
	struct timespec until = { .tv_sec = (time_t)(ns / NSEC_PER_SEC), .tv_nsec = (long)(ns % NSEC_PER_SEC) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

void clock_spin_until(uint64_t ns)
{
	while (clock_now_ns() < ns) {
#if defined(__x86_64__)
		__builtin_ia32_pause();
#elif defined(__aarch64__)
		__asm__ volatile("yield");
#endif
	}
}

/* Device ticks of 0.5 us. The clock runs fast by the drift and started long before the process did. */
static double device_ticks(uint64_t ns)
{
	const double offset_ns = 7.3e15;

	return floor(((double)ns * (1.0 + settings()->drift_ppm * 1e-6) + offset_ns) / 500.0);
}

double clock_device_ms(uint64_t from_ns, uint64_t to_ns)
{
	return (device_ticks(to_ns) - device_ticks(from_ns)) * 0.5e-3;
}
