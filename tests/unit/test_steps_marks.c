/* SPDX-License-Identifier: BSD-2-Clause */
/* Of every interval, what a walk through its calls finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "steps/steps_marks.h"
#include "tests/support/failing_alloc.h"
#include "tests/unit/tokens_made.h"

#define CALLS 900

struct program {
	struct made *made;
	struct trace trace;
	struct call calls[CALLS];
	uint32_t at[CALLS];
};

/* Submissions of five kinds, and between them calls that wait, and that do not. */
static void begin(struct program *p, uint64_t seed)
{
	struct made *m = p->made = made_begin(seed);

	p->trace = (struct trace){ .calls = p->calls, .n_calls = CALLS };
	m->s.trace = &p->trace;
	m->s.calls = p->at;
	for (uint32_t i = 0; i < 5; i++)
		m->about[i].kind = (uint8_t)i;
	for (uint32_t i = 0; i < CALLS; i++) {
		static const uint8_t others[] = { GST_FAMILY_SYNC_STREAM, GST_FAMILY_SYNC_CONTEXT,
						  GST_FAMILY_SYNC_EVENT, GST_FAMILY_QUERY_EVENT, GST_FAMILY_ALLOC };

		p->calls[i] = (struct call){ .family = GST_FAMILY_LAUNCH };
		if (made_below(m, 3)) {
			p->calls[i].family = others[made_below(m, 20) ? 3 + made_below(m, 2) : made_below(m, 3)];
			continue;
		}
		p->at[m->s.n] = i;
		made_token(m, made_below(m, 30) ? TOKEN_KERNEL : (uint32_t)made_below(m, 5));
	}
}

static uint32_t walk(const struct program *p, size_t from, size_t until)
{
	const struct step_tokens *s = &p->made->s;
	uint32_t n = 0;

	for (size_t i = from; i < until; i++)
		n += s->about[s->ids[i]].kind == TOKEN_H2D || s->about[s->ids[i]].kind == TOKEN_D2H;
	for (size_t i = p->at[from]; i < p->at[until]; i++)
		n += call_waits(&p->calls[i]);
	return n;
}

static void every_interval(void **state)
{
	static struct program p;

	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct step_marks m;
		size_t from, until;

		begin(&p, seed);
		from = p.made->s.n / 5;
		until = p.made->s.n - p.made->s.n / 7;
		assert_true(walk(&p, from, until - 1) > 10);
		assert_true(marks_count(&m, &p.made->s, from, until));
		for (size_t i = from; i < until; i++)
			for (size_t k = i; k < until; k++)
				assert_int_equal(marks_between(&m, i, k), walk(&p, i, k));
		marks_free(&m);
		free(p.made);
	}
}

static void no_memory(void **state)
{
	static struct program p;
	struct step_marks m;

	(void)state;
	begin(&p, 1);
	fail_at = 1;
	assert_false(marks_count(&m, &p.made->s, 0, p.made->s.n));
	marks_free(&m);
	free(p.made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_interval),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
