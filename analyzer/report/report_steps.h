/* SPDX-License-Identifier: BSD-2-Clause */
/* report_steps.h: what steps are like, and which take longer. */
#pragma once

#include "report_json.h"
#include "report_page.h"

/* Key `steps_usual`: of each device with steps. */
void report_steps_usual_json(struct json *j, const struct summary *s, const struct report_scope *scope);

/* A line for each of the longest outliers of the device. */
void report_outliers(const struct page *p, const struct summary_device *d);
