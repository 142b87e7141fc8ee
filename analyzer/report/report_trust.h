/* SPDX-License-Identifier: BSD-2-Clause */
/* report_trust.h: how far the numbers can be trusted, the last lines of every text report. */
#pragma once

#include "report_page.h"

/* In full, or of one screen in two lines or three. */
void report_trust(const struct page *p, const struct summary *s);
void report_trust_line(const struct page *p, const struct summary *s);
