/* SPDX-License-Identifier: BSD-2-Clause */
/* report_head.h: what was recorded, in two lines. Only of a run that has a process. */
#pragma once

#include "summary/summary.h"

#define REPORT_SUBTITLE 320

/* "train.py --steps 30": the command of the process with most calls, clean. */
const char *report_title(char *buf, size_t size, const struct summary *s, size_t columns);
/* "4 processes on a and 1 more, recorded for 4.63 s, cut short"; "1 process in 2 traces on …": windows of it */
const char *report_subtitle(char buf[REPORT_SUBTITLE], const struct summary *s);
