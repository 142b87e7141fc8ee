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

/* Each device's clock has a start and a rate of its own, as crystals do: device 0 drifts as SIMGPU_DRIFT_PPM says, each
 * further one by this much less. */
static const double drift_step_ppm = 3;
static const double start_ns = 7.3e15, start_step_ns = 1.1e13 + 137;

/* Device ticks of 0.5 us. */
static double device_ticks(int device, uint64_t ns)
{
	double drift = (settings()->drift_ppm - drift_step_ppm * device) * 1e-6;

	return floor(((double)ns * (1.0 + drift) + start_ns + start_step_ns * device) / 500.0);
}

double clock_device_ms(int device, uint64_t from_ns, uint64_t to_ns)
{
	return (device_ticks(device, to_ns) - device_ticks(device, from_ns)) * 0.5e-3;
}
