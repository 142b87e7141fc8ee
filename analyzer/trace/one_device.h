/* SPDX-License-Identifier: BSD-2-Clause */
/* one_device.h: whether what two processes call a device is one, so that their work on it can be laid side by side. */
#pragma once

#include "trace.h"

bool device_has_uuid(const struct device *d);
/* Both have a UUID, the same, and times of theirs can be compared. */
bool one_device(const struct trace *a, const struct device *of_a, const struct trace *b, const struct device *of_b);
