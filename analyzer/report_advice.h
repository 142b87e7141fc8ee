/* SPDX-License-Identifier: BSD-2-Clause */
/* report_advice.h: what the text report says to do. */
#pragma once

#include "report_page.h"
#include "report_totals.h"

void report_advice(const struct page *p, const struct summary *s, const struct totals *t);
