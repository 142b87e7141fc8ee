/* SPDX-License-Identifier: BSD-2-Clause */
/* cause_evidence.h: what an owned interval says for itself: its evidence, and the place in the program that held it. False: no memory. */
#pragma once

#include "cause.h"

/* One more text; `said`: one that stays where it is. Only these add any. */
bool cause_add_text(struct arena *arena, struct gap_cause *c, const char *text);
bool cause_add_said(struct arena *arena, struct gap_cause *c, const char *said);
/* … unless it is there already or there are enough. */
bool cause_keep_text(struct arena *arena, struct gap_cause *c, const char *text);
/* What code held the interval; the place of the longest part is evidence as well. */
bool cause_keep_place(struct arena *arena, const struct gap_view *view, struct gap_cause *c);
