/* SPDX-License-Identifier: BSD-2-Clause */
/* report_why_waits.h: of one gap, whether the host was late with the next work, and what that work stood behind, wait by wait. */
#pragma once

#include "gap/gap_view.h"
#include "report_page.h"

/* Begins where a line has room for a name of eight letters. */
void why_host(const struct page *p, const struct gap_view *v);

/* Nothing where the work stood behind nothing that is known. */
void why_waits(const struct page *p, const struct gap_view *v);
