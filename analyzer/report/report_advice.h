/* SPDX-License-Identifier: BSD-2-Clause */
/* report_advice.h: what a report says to do, and what that can give. */
#pragma once

#include "advice/advice.h"
#include "report_page.h"
#include "tools/json.h"

enum err_kind report_advice(const struct page *p, const struct summary *s, struct error *e);
/* The keys `framework`, `recoverable` and `advice`. */
enum err_kind report_advice_json(struct json *j, const struct summary *s, struct error *e);
