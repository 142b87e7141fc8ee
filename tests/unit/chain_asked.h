/* SPDX-License-Identifier: BSD-2-Clause */
/* chain_asked.h: the cause of one segment of a walk, of which all is known that its rules look at. */
#pragma once

#include "tests/unit/chain_by_hand.h"

static inline enum cause_id ask_in(enum cause_id (*ask)(const struct chain_segment *s, const struct chain_about *about),
				   const struct chain_segment *s, struct chain_about *about)
{
	struct chain_seen seen = { 0 };
	struct chain_saved saved = { 0 };
	enum cause_id cause;

	assert_true(chain_seen_set(&seen, about->whole));
	assert_true(chain_saved_set(&saved, about->whole, about->copied_out_ns));
	about->seen = &seen;
	about->saved = &saved;
	cause = ask(s, about);
	about->seen = NULL;
	about->saved = NULL;
	chain_seen_free(&seen);
	chain_saved_free(&saved);
	return cause;
}

static inline enum cause_id cause_in(const struct chain_segment *s, struct chain_about *about)
{
	return ask_in(chain_cause, s, about);
}

static inline enum cause_id between_in(const struct chain_segment *s, struct chain_about *about)
{
	return ask_in(chain_between, s, about);
}
