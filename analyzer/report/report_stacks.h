/* SPDX-License-Identifier: BSD-2-Clause */
/* report_stacks.h: the code that held the submitting threads, for people and for programs. */
#pragma once

#include "report_json.h"
#include "report_page.h"

/* The statements that most idle time went by, and which objects have no names, and why. Nothing where no stack was taken. */
enum err_kind report_call_sites(const struct page *p, const struct summary *s, struct error *e);
/* What held one interval of a gap, and, if it is to be told, the stack of each up to the user's outermost frame; but for one that was the last
 * to be printed: *last, NULL none. */
void report_held(const struct page *p, const struct gap_cause *c, bool stacks, const struct held **last);

/* "call_sites": [ … ], "launch_sites": [ … ], "stacks": [ … ], "objects": [ … ], "stack_cost": { … } */
enum err_kind report_stacks_json(struct json *j, const struct summary *s, const struct report_scope *scope, struct error *e);
/* "launch-site", "next-call", …; "none". */
const char *report_held_by(enum held_by by);
/* "held": [ … ] of one cause. */
void report_held_json(struct json *j, const struct summary *s, const struct gap_cause *c);
