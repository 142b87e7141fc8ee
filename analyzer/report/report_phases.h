/* SPDX-License-Identifier: BSD-2-Clause */
/* report_phases.h: idle time by step and by phase, from the program's own NVTX ranges, or what repeats in its launches. */
#pragma once

#include "report_json.h"
#include "report_page.h"

/* Keys `steps` (not for a page), `steps_usual` and `phases`. */
void report_phases_json(struct json *j, const struct summary *s, const struct report_scope *scope);

/* A line on the steps, the phases with the most idle time; nothing where there are none. */
enum err_kind report_phases(const struct page *p, const struct summary *s, struct error *e);

/* "input-wait 80 %, host-compute 15 %" */
void causes_mainly(char *buf, size_t size, int64_t idle_ns, const int64_t causes_ns[CAUSE_COUNT]);
