/* SPDX-License-Identifier: BSD-2-Clause */
/* report_info.h: the parts of what `info` says of one file. */
#pragma once

#include "report_page.h"

/* What was recorded, what was lost, whether to trust it: sentences. */
void report_info_words(const struct page *p, const struct trace *t);
/* Who, how, which devices and threads, how many records and calls of which kind. */
enum err_kind report_info_tables(const struct page *p, const struct trace *t, struct error *e);

/* "2026-11-21 10:12:01 UTC" */
const char *report_time_of_day(char buf[64], uint64_t real_ns);
