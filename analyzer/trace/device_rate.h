/* SPDX-License-Identifier: BSD-2-Clause */
/* device_rate.h: how fast the offset between the host's clock and a device's changes, from what bounds it.
 *
 * The rate is that of two crystals: within RATE_CRYSTALS. Temperature bends it slowly, so it is estimated for each few seconds by
 * themselves and allowed RATE_WANDER around that; where the bounds then contradict each other, more, and where they go on doing so, somebody slews
 * the host's clock besides: RATE_SLEWED. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENT_STEP_NS 500.0 /* events tick in 0.5 us */
#define RATE_CRYSTALS 100e-6 /* within 50 ppm of nominal each */
#define RATE_SLEWED 600e-6  /* adjtime does it by 500 */
#define RATE_WANDER 5e-6    /* … from the average over three RATE_BLOCK_NS */
#define RATE_FLOAT 1.2e-7   /* a float's step, relative: what the chain of bases may gain or lose */
#define RATE_BLOCK_NS 8e9

struct clock_point { /* one edge; offset = host - device, at its place on the device's clock */
	double device_ns;
	double low, high;   /* bounds on the offset, ±INFINITY where there is none */
	double own_low, own_high; /* … that hold whatever the rate does within its limit */
	double loose_ns;    /* rounding of device_ns, against edges of its section */
	double link_ns;     /* … of its section */
	double residual_ns; /* by how much the bounds contradict each other here */
	uint32_t edge, root, section;
	uint32_t block;
	uint16_t device;
};

/* Bounds of one clock's points, by device_ns, from all of them: low, high and residual_ns. False: no memory. */
bool device_rate_fit(struct clock_point *p, size_t n);
