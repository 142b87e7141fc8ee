/* SPDX-License-Identifier: BSD-2-Clause */
/* report_devices.h: the text report's tables: what each device did, and why it was idle. */
#pragma once

#include "report_page.h"
#include "report_totals.h"

/* all: the sums over all devices. */
void report_devices(const struct page *p, const struct summary *s, const struct totals *all);
