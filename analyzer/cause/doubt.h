/* SPDX-License-Identifier: BSD-2-Clause */
/* doubt.h: may a record that tells another story of a gap be missing? Then its causes are inferences. */
#pragma once

#include "timeline/timeline.h"

/* From when on records may be missing that are about the device, of any process that uses it: some were dropped, or its file is damaged there.
 * INT64_MAX: none is. */
int64_t doubt_from(const struct device_timeline *d, const struct run *run);

bool doubt_about(const struct device_timeline *d, const struct gap *gap, int64_t from_ns);
