/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_fail.h"

#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"

#define DIGITS 12 /* before the point, and behind it */

static const struct {
	const char *name;
	double ns;
} units[] = { { "%", 0 }, { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };

static size_t row_of(const char *name, size_t length)
{
	for (size_t row = 0; row < DIFF_ROWS; row++)
		if (strlen(diff_row_name(row)) == length && memcmp(diff_row_name(row), name, length) == 0)
			return row;
	return DIFF_ROWS;
}

static const char *after_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

/* "2", "0.5": no locale's, no exponent. NULL: it is none. */
static const char *number(double *out, const char *s)
{
	size_t whole = strspn(s, "0123456789"), part = s[whole] == '.' ? strspn(s + whole + 1, "0123456789") : 0;
	double unit = 1;

	*out = 0;
	if (!whole || whole > DIGITS || part > DIGITS || (s[whole] == '.' && !part))
		return NULL;
	for (size_t i = 0; i < whole; i++)
		*out = 10 * *out + (s[i] - '0');
	for (size_t i = 0; i < part; i++)
		*out += (s[whole + 1 + i] - '0') * (unit /= 10);
	return s + whole + (part ? part + 1 : 0);
}

/* All of the text. False: it is no rule. */
static bool parse(struct diff_rule *r, const char *s)
{
	const char *end = strpbrk(s, "> \t");

	r->row = end ? row_of(s, (size_t)(end - s)) : DIFF_ROWS;
	if (r->row == DIFF_ROWS || *(s = after_blanks(end)) != '>')
		return false;
	s = after_blanks(s + 1);
	s += *s == '+';
	s = number(&r->amount, s);
	if (!s)
		return false;
	s = after_blanks(s);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(s, units[i].name) == 0) {
			r->percent = i == 0;
			r->amount *= i ? units[i].ns : 1;
			return true;
		}
	return false;
}

static enum err_kind refuse(const char *text, struct error *e)
{
	return err_set(
		e, ERR_USAGE, NULL, ERR_NO_BYTE,
		"diff: --fail-on: '%.40s' is no rule: ROW>+AMOUNT, as 'idle>+2%%'; ROW: step, idle, compute, comm, "
		"copy or a cause, as input-storage; AMOUNT: a number and %%, ns, us, ms or s",
		text);
}

enum err_kind diff_rules_parse(struct diff_rule **rules, size_t *n, size_t *cap, struct arena *texts,
			       const char *option, struct error *e)
{
	char *copy = arena_text(texts, option);

	for (char *at = copy, *next; at; at = next) {
		char *comma = strchr(at, ',');
		size_t length;

		next = comma ? comma + 1 : NULL;
		if (comma)
			*comma = 0;
		at += strspn(at, " \t");
		for (length = strlen(at); length && strchr(" \t", at[length - 1]);)
			at[--length] = 0;
		if (!array_room(*rules, *n, *cap))
			return err_no_memory(e, NULL);
		(*rules)[*n] = (struct diff_rule){ .text = at };
		if (!parse(&(*rules)[*n], at))
			return refuse(at, e);
		(*n)++;
	}
	return copy ? ERR_NONE : err_no_memory(e, NULL);
}

enum err_kind diff_rules_check(const char *const *fail_on, size_t n, struct error *e)
{
	struct arena texts = { 0 };
	struct diff_rule *rules = NULL;
	size_t n_rules = 0, cap = 0;
	enum err_kind kind = ERR_NONE;

	for (size_t i = 0; i < n && !kind; i++)
		kind = diff_rules_parse(&rules, &n_rules, &cap, &texts, fail_on[i], e);
	free(rules);
	arena_free(&texts);
	return kind;
}

bool diff_rule_fires(const struct diff_rule *rule, const struct diff_device *compared)
{
	const struct diff_compared *row = &compared->row[rule->row];
	double limit = rule->amount * (rule->percent ? (double)compared->row[ROW_STEP].base_ns / 100 : 1);

	return row->change == DIFF_REGRESSED && (double)row->delta_ns > limit;
}
