/* SPDX-License-Identifier: BSD-2-Clause */
/* report.h: the summary, for people and for programs. Each writes to the FILE it is given; write errors stay in it (ferror). */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "summary/summary.h"

#define REPORT_ALL SIZE_MAX
#define REPORT_GAPS (SIZE_MAX - 1) /* those that fit one screen with the rest */

struct report_style {
	unsigned columns; /* at least 80 */
	bool colour;
	bool many_colours; /* 256 of them: those that read well on light and on dark */
	bool utf8;
	bool full; /* all there is to say; else what fits one screen, and which option has the rest */
};

/* top: the longest gaps to list, REPORT_ALL for every one. */
enum err_kind report_json(FILE *out, const struct summary *s, size_t top, struct error *e);
enum err_kind report_text(FILE *out, const struct summary *s, const struct report_style *style, size_t top, struct error *e);
/* What to do, in full; how far to trust it all, in full: pages of their own. */
enum err_kind report_advice_page(FILE *out, const struct summary *s, const struct report_style *style, struct error *e);
void report_trust_page(FILE *out, const struct summary *s, const struct report_style *style);
/* The whole story of one gap. ERR_USAGE where there is no such gap. */
enum err_kind report_why(FILE *out, const struct summary *s, const struct report_style *style, size_t number, struct error *e);
/* Each step of each device, one a line. */
void report_steps(FILE *out, const struct summary *s, const struct report_style *style);
/* What runs the given paths hold. */
void report_runs(FILE *out, const struct run *run, const struct report_style *style);
/* The same as a page of HTML that needs nothing else (html.c). */
enum err_kind report_html(FILE *out, const struct summary *s, struct error *e);
/* What one file holds, what was lost, and whether to trust it. */
enum err_kind report_info(FILE *out, const struct trace *t, const struct report_style *style, struct error *e);
/* … of host probes. */
void report_info_host(FILE *out, const struct host_trace *h, const struct report_style *style);
