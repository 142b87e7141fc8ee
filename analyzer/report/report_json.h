/* SPDX-License-Identifier: BSD-2-Clause */
/* report_json.h: gpushim.report/1, whole or as a part of something else: the same figures by the same code. */
#pragma once

#include "report.h"
#include "tools/json.h"

struct report_scope {
	const bool *gaps;   /* by number: those that `devices` lists; NULL all */
	const size_t *stacks; size_t n_stacks; /* … and, of a page, those whose stacks are told, the most important first, as far as there is room */
	bool page;          /* for a page with lists of its own: no `steps`, and of each list that has no end the first rows */
};

#define REPORT_PAGE_ROWS 500 /* … so many of each */
#define REPORT_PAGE_STACKS 4000000 /* … bytes of all stacks at most, whatever is in their names */

/* The object. */
enum err_kind report_json_object(struct json *j, const struct summary *s, const struct report_scope *scope, struct error *e);
/* The gaps of a device, within an array. listed: by number; NULL all. */
void report_gaps_json(struct json *j, const struct summary *s, const struct summary_device *d, const bool *listed);
/* A gap's keys, within a map. */
void report_gap_json(struct json *j, const struct summary *s, const struct gap_story *story);

static inline size_t report_rows(const struct report_scope *scope, size_t n)
{
	return scope->page && n > REPORT_PAGE_ROWS ? REPORT_PAGE_ROWS : n;
}
