/* SPDX-License-Identifier: BSD-2-Clause */
/* report_trust.h: how far the numbers can be trusted, the last lines of every text report. */
#pragma once

#include "report_page.h"

void report_trust(const struct page *p, const struct summary *s);
