/* SPDX-License-Identifier: BSD-2-Clause */
/* gst_compact_host.h: records of host probes in the compact form (gst_compact.h). Internal to tests/support. */
#pragma once

#include "gst_image.h"
#include "shim/format_host.h"

struct small { /* of which one record is made: numbers near each other make records that have to do with each other */
	uint8_t what, stream, seq, flags, result;
	uint8_t wait_us, last_us[2], extra[3];
};

/* Bytes of a record of that type without what its own fields say follows; 0: no record of host probes. */
size_t compact_host_size(uint8_t type);
/* What follows, kept small; 0 for most. */
size_t compact_host_rest(void *record, uint16_t type);
/* Few tasks, near times. */
void compact_host_small(struct gst_image *image, const struct small *s, uint64_t *now);
