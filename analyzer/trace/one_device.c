/* SPDX-License-Identifier: BSD-2-Clause */
#include "one_device.h"

#include <string.h>

#include "same_clock.h"

/* Of our own recordings a UUID says besides that it is one machine, so one clock. Other tools count from when they were started, and what a device did
 * between two windows is in neither; in one file nothing is between. */
static bool comparable(const struct trace *a, const struct trace *b)
{
	if (a->header.clock != CLOCK_OF_IMPORT && b->header.clock != CLOCK_OF_IMPORT)
		return true;
	return same_clock(&a->header, &b->header) &&
	       (trace_window(a) == trace_window(b) || strcmp(a->path, b->path) == 0);
}

bool device_has_uuid(const struct device *d)
{
	static const uint8_t none[sizeof(d->uuid)];

	return memcmp(d->uuid, none, sizeof(none)) != 0;
}

bool one_device(const struct trace *a, const struct device *of_a, const struct trace *b, const struct device *of_b)
{
	return device_has_uuid(of_a) && memcmp(of_a->uuid, of_b->uuid, sizeof(of_a->uuid)) == 0 && comparable(a, b);
}
