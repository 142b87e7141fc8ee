/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_baseline_take.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff_baseline.h"
#include "diff_keep.h"

#define DIGITS 40 /* of a number */

static bool is_wrong(const char **wrong, const char *words)
{
	*wrong = words;
	return false;
}

void baseline_begin(const struct baseline_shape *shape, void *of)
{
	for (size_t i = 0; i < shape->n; i++) {
		const struct baseline_field *f = &shape->fields[i];

		if (f->kind == BASELINE_WORDS)
			*(const char **)((char *)of + f->at) = "";
		else if (f->kind == BASELINE_ONE)
			baseline_begin(f->of, (char *)of + f->at);
	}
}

void baseline_clear(const struct baseline_field *f, void *of)
{
	char *at = (char *)of + f->at;

	if (f->kind == BASELINE_LEAVES)
		memset(at + ROW_LEAVES * sizeof(int64_t), 0, DIFF_LEAVES * sizeof(int64_t));
	else if (f->kind == BASELINE_ERRORS)
		memset(at, 0, DIFF_ROWS * sizeof(double));
	else if (f->kind == BASELINE_CAUSES)
		memset(at, 0, CAUSE_COUNT * sizeof(int64_t));
	else if (f->kind == BASELINE_LINES)
		*(size_t *)((char *)of + f->count) = 0;
}

/* ---- numbers ---- */

static bool digits_of(char digits[DIGITS], const struct baseline_token *t)
{
	if (t->kind != BASELINE_NUMBER_TOKEN || t->bytes >= DIGITS)
		return false;
	memcpy(digits, t->at, t->bytes);
	digits[t->bytes] = 0;
	return true;
}

static bool take_int(int64_t *out, int64_t least, int64_t most, const struct baseline_token *t, const char **wrong)
{
	char digits[DIGITS], *end = NULL;

	errno = 0;
	if (digits_of(digits, t))
		*out = strtoll(digits, &end, 10);
	if (!end || *end)
		return is_wrong(wrong, "a value is no whole number");
	return (!errno && *out >= least && *out <= most) || is_wrong(wrong, "a number is out of range");
}

static bool take_uint64(uint64_t *out, const struct baseline_token *t, const char **wrong)
{
	char digits[DIGITS], *end = NULL;

	errno = 0;
	if (digits_of(digits, t))
		*out = strtoull(digits, &end, 10);
	if (!end || *end)
		return is_wrong(wrong, "a value is no whole number");
	return (!errno && *digits != '-') || is_wrong(wrong, "a number is out of range");
}

static bool take_double(double *out, const struct baseline_token *t, const char **wrong)
{
	char digits[DIGITS], *end = NULL;

	if (digits_of(digits, t))
		*out = strtod(digits, &end);
	if (!end || *end)
		return is_wrong(wrong, "a value is no number");
	return (*out >= 0 && *out <= (double)BASELINE_NUMBER) || is_wrong(wrong, "a number is out of range");
}

/* ---- texts ---- */

static bool take_text(const char **out, struct arena *texts, const struct baseline_token *t, const char **wrong)
{
	char text[BASELINE_TEXT + 1];

	if (t->kind != BASELINE_TEXT_TOKEN)
		return is_wrong(wrong, "a value is no text");
	if (t->bytes > BASELINE_TEXT)
		return is_wrong(wrong, "a text is too long");
	if (memchr(t->at, 0, t->bytes))
		return is_wrong(wrong, "there is a zero byte in a text");
	memcpy(text, t->at, t->bytes);
	text[t->bytes] = 0;
	*out = diff_keep_text(texts, text);
	return *out != NULL;
}

/* ---- what has names ---- */

static bool is_name(const char *name, const char *at, size_t bytes)
{
	return strlen(name) == bytes && memcmp(name, at, bytes) == 0;
}

size_t baseline_row(const struct baseline_field *f, const char *name, size_t bytes)
{
	if (f->kind == BASELINE_CAUSES) {
		for (int i = 0; i < CAUSE_COUNT; i++)
			if (is_name(cause_name((enum cause_id)i), name, bytes))
				return (size_t)i;
		return BASELINE_NO_ROW;
	}
	for (size_t i = f->kind == BASELINE_LEAVES ? ROW_LEAVES : 0; i < DIFF_ROWS; i++)
		if (is_name(diff_row_name(i), name, bytes))
			return i;
	return BASELINE_NO_ROW;
}

/* What a newer version knows the cause of is unexplained here. */
static bool take_ns(int64_t *rows, size_t unexplained, size_t row, const struct baseline_token *t, const char **wrong)
{
	int64_t ns;

	if (!take_int(&ns, 0, BASELINE_NUMBER, t, wrong))
		return false;
	if (row != BASELINE_NO_ROW && row != unexplained) {
		rows[row] = ns;
		return true;
	}
	rows[unexplained] += ns;
	return rows[unexplained] <= BASELINE_NUMBER || is_wrong(wrong, "a number is out of range");
}

static bool take_line(const struct baseline_field *f, char *of, const struct baseline_token *t, struct arena *texts,
		      const char **wrong)
{
	size_t *n = (size_t *)(of + f->count);

	return *n >= f->most || take_text((const char **)(of + f->at) + (*n)++, texts, t, wrong);
}

static bool take_element(const struct baseline_field *f, char *of, size_t row, const struct baseline_token *t,
			 struct arena *texts, const char **wrong)
{
	double ignored, *errors = (double *)(of + f->at);

	switch (f->kind) {
	case BASELINE_LEAVES:
		return take_ns((int64_t *)(of + f->at), ROW_LEAVES + LEAF_CAUSES + CAUSE_unexplained, row, t, wrong);
	case BASELINE_CAUSES:
		return take_ns((int64_t *)(of + f->at), CAUSE_unexplained, row, t, wrong);
	case BASELINE_ERRORS:
		return take_double(row == BASELINE_NO_ROW ? &ignored : &errors[row], t, wrong);
	default:
		return take_line(f, of, t, texts, wrong);
	}
}

bool baseline_take(const struct baseline_field *f, void *of, bool plain, size_t row, const struct baseline_token *t,
		   struct arena *texts, const char **wrong)
{
	void *at = (char *)of + f->at;
	int64_t n = 0;
	bool ok;

	if (!plain)
		return take_element(f, of, row, t, texts, wrong);
	switch (f->kind) {
	case BASELINE_INT64:
		return take_int(at, -BASELINE_NUMBER, BASELINE_NUMBER, t, wrong);
	case BASELINE_INT:
		ok = take_int(&n, 0, INT_MAX, t, wrong);
		*(int *)at = (int)n;
		return ok;
	case BASELINE_UINT32:
		ok = take_int(&n, 0, UINT32_MAX, t, wrong);
		*(uint32_t *)at = (uint32_t)n;
		return ok;
	case BASELINE_AMOUNT:
		return take_int(at, 0, BASELINE_NUMBER, t, wrong);
	case BASELINE_UINT64:
		return take_uint64(at, t, wrong);
	case BASELINE_DOUBLE:
		return take_double(at, t, wrong);
	case BASELINE_BOOL:
		*(bool *)at = t->kind == BASELINE_WORD_TOKEN && t->word == 1;
		return (t->kind == BASELINE_WORD_TOKEN && t->word >= 0) ||
		       is_wrong(wrong, "a value is neither true nor false");
	case BASELINE_MAYBE:
		if (t->kind == BASELINE_WORD_TOKEN && t->word < 0) {
			*(const char **)at = NULL;
			return true;
		}
		return take_text(at, texts, t, wrong);
	case BASELINE_WORDS:
		return take_text(at, texts, t, wrong);
	default:
		return is_wrong(wrong, "a value is not of its kind");
	}
}
