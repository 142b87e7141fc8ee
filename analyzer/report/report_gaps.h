/* SPDX-License-Identifier: BSD-2-Clause */
/* report_gaps.h: the text report's longest gaps. */
#pragma once

#include "report_page.h"

enum err_kind report_gaps(const struct page *p, const struct summary *s, size_t top, struct error *e);
