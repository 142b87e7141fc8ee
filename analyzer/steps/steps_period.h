/* SPDX-License-Identifier: BSD-2-Clause */
/* steps_period.h: what comes again and again in a sequence of tokens.
 *
 * An anchor is a token, or a token behind a certain other one. Between two of its places in the sequence is an interval. The anchor of an
 * iteration is one whose intervals are much the same and explain most of what lies between the first and the last of them. */
#pragma once

#include "steps_bags.h"
#include "steps_tokens.h"

struct anchor {
	uint32_t before; /* TOKEN_ANY, or what comes right before it */
	uint32_t id;
};

#define TOKEN_ANY UINT32_MAX

struct period {
	struct anchor anchor;
	size_t length;  /* launches in one, typically; 0: there is no period */
	size_t example; /* where a typical one begins, at an anchor */
	size_t from, until; /* the part of the sequence in which it was found */
};

#define LEAST_STEPS 4 /* iterations, for a period */

static inline bool anchor_is_at(const struct anchor *a, const struct step_tokens *s, size_t i)
{
	return s->ids[i] == a->id && (a->before == TOKEN_ANY || (i && s->ids[i - 1] == a->before));
}

/* The bags are then those of its intervals. False: no memory. */
bool period_find(struct period *out, const struct step_tokens *s, struct token_bags *bags);
