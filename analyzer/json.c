/* SPDX-License-Identifier: BSD-2-Clause */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "text.h"

#define TEXT_MOST 16384 /* of one text: two of the longest paths and what is said of them */

static void *pool_alloc(void *context, size_t bytes)
{
	struct json *j = context;
	char *p = j->pool + j->used;

	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > sizeof(j->pool) - j->used)
		return NULL;
	j->used += bytes;
	return p;
}

static void *pool_realloc(void *context, void *p, size_t bytes)
{
	(void)p; /* never called: the generator grows a buffer of its own only where there is no callback */
	return pool_alloc(context, bytes);
}

static void pool_free(void *context, void *p)
{
	(void)context;
	(void)p;
}

static void print(void *context, const char *s, size_t bytes)
{
	fwrite(s, 1, bytes, ((struct json *)context)->file);
}

void json_open(struct json *j, FILE *file)
{
	const yajl_alloc_funcs memory = { pool_alloc, pool_realloc, pool_free, j };

	j->file = file;
	j->used = 0;
	j->shown = false;
	j->gen = yajl_gen_alloc(&memory);
	yajl_gen_config(j->gen, yajl_gen_print_callback, print, j);
}

void json_next(struct json *j)
{
	yajl_gen_reset(j->gen, NULL);
}

void json_map(struct json *j)
{
	yajl_gen_map_open(j->gen);
}

void json_map_end(struct json *j)
{
	yajl_gen_map_close(j->gen);
}

void json_array(struct json *j)
{
	yajl_gen_array_open(j->gen);
}

void json_array_end(struct json *j)
{
	yajl_gen_array_close(j->gen);
}

void json_text(struct json *j, const char *s)
{
	char buf[TEXT_MOST];

	if (j->shown)
		text_clean(buf, sizeof(buf), s, sizeof(buf));
	else
		text_utf8_only(buf, sizeof(buf), s);
	yajl_gen_string(j->gen, (const unsigned char *)buf, strlen(buf));
}

void json_int(struct json *j, int64_t v)
{
	yajl_gen_integer(j->gen, v);
}

void json_uint(struct json *j, uint64_t v)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, v);
	json_number(j, digits);
}

void json_double(struct json *j, double v)
{
	char digits[40];

	snprintf(digits, sizeof(digits), "%.9g", isfinite(v) ? v : 0.0);
	json_number(j, digits);
}

void json_bool(struct json *j, bool v)
{
	yajl_gen_bool(j->gen, v);
}

void json_number(struct json *j, const char *digits)
{
	yajl_gen_number(j->gen, digits, strlen(digits));
}

/* A number's digits go out as they are. */
void json_raw(struct json *j, const char *value, size_t n)
{
	yajl_gen_number(j->gen, value, n);
}

void json_base64(struct json *j, const void *bytes, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *p = bytes;

	json_raw(j, "\"", 1); /* commas and colons are the generator's */
	for (size_t i = 0; i < n; i += 3) {
		uint32_t v =
			(uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) | (i + 2 < n ? p[i + 2] : 0);

		putc(digits[v >> 18], j->file);
		putc(digits[v >> 12 & 63], j->file);
		putc(i + 1 < n ? digits[v >> 6 & 63] : '=', j->file);
		putc(i + 2 < n ? digits[v & 63] : '=', j->file);
	}
	putc('"', j->file);
}

void json_key(struct json *j, const char *key)
{
	json_text(j, key);
}

void json_key_text(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_text(j, s);
}

void json_key_int(struct json *j, const char *key, int64_t v)
{
	json_key(j, key);
	json_int(j, v);
}

void json_key_uint(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_uint(j, v);
}

void json_key_double(struct json *j, const char *key, double v)
{
	json_key(j, key);
	json_double(j, v);
}

void json_key_map(struct json *j, const char *key)
{
	json_key(j, key);
	json_map(j);
}

void json_key_array(struct json *j, const char *key)
{
	json_key(j, key);
	json_array(j);
}
