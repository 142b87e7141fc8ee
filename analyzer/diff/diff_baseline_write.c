/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_baseline.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "diff_baseline_shape.h"
#include "tools/json.h"

#define SAME_DIGITS 32 /* a double, with 17 digits of it */

/* So that it is read as the same number. */
static void same_double(struct json *j, double v)
{
	char digits[SAME_DIGITS];

	snprintf(digits, sizeof(digits), "%.17g", isfinite(v) ? v : 0.0);
	json_number(j, digits);
}

/* ---- what has a name for each element; 0 is left out ---- */

static void leaves(struct json *j, const int64_t *row_ns)
{
	json_map(j);
	for (size_t i = ROW_LEAVES; i < DIFF_ROWS; i++) {
		if (!row_ns[i])
			continue;
		json_key(j, diff_row_name(i));
		json_int(j, row_ns[i]);
	}
	json_map_end(j);
}

static void errors(struct json *j, const double *error_ns)
{
	json_map(j);
	for (size_t i = 0; i < DIFF_ROWS; i++) {
		if (!(error_ns[i] > 0))
			continue;
		json_key(j, diff_row_name(i));
		same_double(j, error_ns[i]);
	}
	json_map_end(j);
}

static void causes(struct json *j, const int64_t *ns)
{
	json_map(j);
	for (int i = 0; i < CAUSE_COUNT; i++) {
		if (!ns[i])
			continue;
		json_key(j, cause_name((enum cause_id)i));
		json_int(j, ns[i]);
	}
	json_map_end(j);
}

static void lines(struct json *j, const char *const *at, size_t n)
{
	json_array(j);
	for (size_t i = 0; i < n; i++)
		json_text(j, at[i]);
	json_array_end(j);
}

/* ---- by shape ---- */

static void object(struct json *j, const struct baseline_shape *shape, const void *of);

/* An element a line: so a version control's own diff of two baselines can be read. */
static void list(struct json *j, const struct baseline_shape *shape, const char *at, size_t n)
{
	json_array(j);
	for (size_t i = 0; i < n; i++) {
		object(j, shape, at + i * shape->size);
		json_flush(j);
		fputc('\n', j->file);
	}
	json_array_end(j);
}

static void value(struct json *j, const struct baseline_field *f, const char *of)
{
	const void *at = of + f->at;
	const char *words = NULL;

	if (f->kind == BASELINE_WORDS || f->kind == BASELINE_MAYBE)
		words = *(const char *const *)at;
	if (f->kind == BASELINE_MAYBE && !words)
		return;
	json_key(j, f->name);
	switch (f->kind) {
	case BASELINE_INT64:
		return json_int(j, *(const int64_t *)at);
	case BASELINE_INT:
		return json_int(j, *(const int *)at);
	case BASELINE_UINT32:
		return json_uint(j, *(const uint32_t *)at);
	case BASELINE_UINT64:
	case BASELINE_AMOUNT:
		return json_uint(j, *(const uint64_t *)at);
	case BASELINE_DOUBLE:
		return same_double(j, *(const double *)at);
	case BASELINE_BOOL:
		return json_bool(j, *(const bool *)at);
	case BASELINE_WORDS:
	case BASELINE_MAYBE:
		return json_text(j, words ? words : "");
	case BASELINE_LEAVES:
		return leaves(j, at);
	case BASELINE_ERRORS:
		return errors(j, at);
	case BASELINE_CAUSES:
		return causes(j, at);
	case BASELINE_LINES:
		return lines(j, at, *(const size_t *)(of + f->count));
	case BASELINE_ONE:
		return object(j, f->of, at);
	case BASELINE_LIST:
		return list(j, f->of, *(const char *const *)at, *(const size_t *)(of + f->count));
	}
}

static void object(struct json *j, const struct baseline_shape *shape, const void *of)
{
	json_map(j);
	for (size_t i = 0; i < shape->n; i++)
		value(j, &shape->fields[i], of);
	json_map_end(j);
}

enum err_kind diff_baseline_write(FILE *out, const struct diff_run *runs, size_t n, struct error *e)
{
	char schema[64];
	struct json j;

	snprintf(schema, sizeof(schema), "%s%d", BASELINE_SCHEMA, BASELINE_VERSION);
	json_open(&j, out);
	json_map(&j);
	json_key_text(&j, "schema", schema);
	json_key(&j, "runs");
	list(&j, &baseline_run, (const char *)runs, n);
	json_map_end(&j);
	fputc('\n', out);
	return ferror(out) ? err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "a baseline cannot be written") : ERR_NONE;
}
