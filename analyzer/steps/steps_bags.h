/* SPDX-License-Identifier: BSD-2-Clause */
/* steps_bags.h: stretches of a sequence of tokens as bags (multisets), and how much another stretch has in common with each. What a few
 * launches more or less, or in another order, change about an iteration is little so. */
#pragma once

#include "steps_tokens.h"

#define BAGS 8 /* kinds of stretches that are told apart at once */

struct bag {
	size_t begin, length; /* the stretch it was made of */
	uint64_t work;        /* … and the kernels it launches */
	size_t members;       /* stretches like it */
	uint64_t launches;    /* … and what they launch, all together */
};

struct token_bags {
	const struct step_tokens *s;
	uint32_t (*counts)[BAGS]; /* by token */
	uint32_t *seen;           /* by token: of the stretch that is looked at */
	struct bag at[BAGS]; size_t n;
};

/* False: no memory. */
bool bags_begin(struct token_bags *b, const struct step_tokens *s);
void bags_free(struct token_bags *b);
void bags_clear(struct token_bags *b);

struct bag_share {
	size_t tokens;
	uint64_t work;
};

/* How much of [begin, end) each bag has too. */
void bags_share(struct token_bags *b, size_t begin, size_t end, struct bag_share shared[BAGS]);
/* Makes it a bag, in place of the one with fewest members where there are BAGS; which. */
size_t bags_take(struct token_bags *b, size_t begin, size_t end);
/* Puts the stretch into the bag most like it, or into one of its own; which. */
size_t bags_add(struct token_bags *b, size_t begin, size_t end);

/* Launches of those whose stretches come again. Copies do not count: a checkpoint has many. */
struct bags_sum {
	const struct bag *typical; /* it explains most; before it one that is longer, with half as much: evaluations are short. NULL: none */
	uint64_t most, alike, all; /* of it alone; of all that are as long; of all */
	size_t members;            /* of those as long */
};
struct bags_sum bags_sum(const struct token_bags *b);
/* The kernels that it launches. */
uint64_t bags_work(const struct token_bags *b, size_t begin, size_t end);
/* Does such a stretch launch about as many kernels as those? Copies do not count. */
bool bag_is_as_long(const struct bag *b, size_t length, uint64_t work);
