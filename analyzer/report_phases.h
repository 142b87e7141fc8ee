/* SPDX-License-Identifier: BSD-2-Clause */
/* report_phases.h: idle time by step and by phase, from the program's own NVTX ranges, or what repeats in its launches. */
#pragma once

#include "json.h"
#include "report_page.h"

/* Keys `steps` and `phases`. */
void report_phases_json(struct json *j, const struct summary *s);

/* A line on the steps, the phases with the most idle time; nothing where there are none. */
enum err_kind report_phases(const struct page *p, const struct summary *s, struct error *e);
