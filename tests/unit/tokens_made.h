/* SPDX-License-Identifier: BSD-2-Clause */
/* tokens_made.h: a sequence of tokens, as steps_tokens.h leaves one, and where its iterations begin. Include cmocka before it. */
#pragma once

#include <stdlib.h>

#include "steps/steps_tokens.h"

#define MADE_MAX 4096
#define MADE_KINDS 128 /* different tokens */
#define MADE_ITERATIONS 256

struct made {
	struct step_tokens s;
	uint32_t ids[MADE_MAX];
	struct token_about about[MADE_KINDS];
	size_t at[MADE_ITERATIONS + 1];
	uint8_t is_step[MADE_ITERATIONS + 1];
	size_t n; /* iterations */
	uint64_t random;
};

/* All tokens are kernels that no name tells anything of. */
static inline struct made *made_begin(uint64_t seed)
{
	struct made *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->s.ids = m->ids;
	m->s.about = m->about;
	m->s.n_about = MADE_KINDS;
	for (size_t i = 0; i < MADE_KINDS; i++)
		m->about[i] = (struct token_about){ .kind = TOKEN_KERNEL, .work = 1 };
	m->random = seed;
	return m;
}

static inline uint64_t made_below(struct made *m, uint64_t n)
{
	m->random = m->random * 6364136223846793005u + 1442695040888963407u;
	return (m->random >> 33) % n;
}

static inline void made_iteration(struct made *m, bool is_step)
{
	assert_true(m->n < MADE_ITERATIONS);
	m->at[m->n] = m->s.n;
	m->is_step[m->n++] = is_step;
}

static inline void made_token(struct made *m, uint32_t id)
{
	assert_true(m->s.n < MADE_MAX && id < MADE_KINDS);
	m->ids[m->s.n++] = id;
}

/* first, first + 1, … */
static inline void made_row(struct made *m, uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		made_token(m, first + i);
}
