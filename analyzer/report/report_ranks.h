/* SPDX-License-Identifier: BSD-2-Clause */
/* report_ranks.h: the ranks beside each other: who waits, for whom, why; and how the hosts' clocks are to each other. */
#pragma once

#include "report_page.h"
#include "summary/summary.h"
#include "tools/json.h"

/* Nothing where fewer than two ranks are known. */
enum err_kind report_ranks(const struct page *p, const struct summary *s, struct error *e);

/* The key "ranks". */
void report_ranks_json(struct json *j, const struct summary *s);
