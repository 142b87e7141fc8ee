/* SPDX-License-Identifier: BSD-2-Clause */
#include "json.h"

#include <inttypes.h>
#include <math.h>

#include "text.h"

#define TEXT_MOST 16384 /* of one text: two of the longest paths and what is said of them */
#define PLAIN_MOST 4096 /* … that is copied as it is */
#define NUMBER_MOST 64  /* digits, and a comma */

void json_open(struct json *j, FILE *file)
{
	j->file = file;
	j->shown = j->comma = false;
	j->depth = 0;
	j->used = 0;
}

/* A comma before each of them. */
void json_open_values(struct json *j, FILE *file)
{
	json_open(j, file);
	j->comma = true;
	j->depth = 1;
}

void json_flush(struct json *j)
{
	fwrite(j->buffer, 1, j->used, j->file);
	j->used = 0;
}

void json_next(struct json *j)
{
	j->comma = false;
	j->depth = 0;
}

/* ---- bytes ---- */

/* Room for n more, at most JSON_BUFFER. */
static char *room(struct json *j, size_t n)
{
	if (n > JSON_BUFFER - j->used)
		json_flush(j);
	return j->buffer + j->used;
}

/* Before a key, or a value behind another one. */
static char *begin(struct json *j, size_t n)
{
	char *at = room(j, n + 1);

	if (j->comma)
		*at++ = ',';
	return at;
}

/* A value is complete. */
static void end(struct json *j, const char *at)
{
	j->used = (size_t)(at - j->buffer);
	j->comma = true;
	if (!j->depth)
		json_flush(j);
}

static void put(struct json *j, const char *bytes, size_t n)
{
	if (n > JSON_BUFFER) {
		json_flush(j);
		fwrite(bytes, 1, n, j->file);
		return;
	}
	memcpy(room(j, n), bytes, n);
	j->used += n;
}

static void open_one(struct json *j, char bracket)
{
	char *at = begin(j, 1);

	*at++ = bracket;
	j->used = (size_t)(at - j->buffer);
	j->comma = false;
	j->depth++;
}

static void close_one(struct json *j, char bracket)
{
	char *at = room(j, 1);

	*at++ = bracket;
	j->depth--;
	end(j, at);
}

void json_map(struct json *j)
{
	open_one(j, '{');
}

void json_map_end(struct json *j)
{
	close_one(j, '}');
}

void json_array(struct json *j)
{
	open_one(j, '[');
}

void json_array_end(struct json *j)
{
	close_one(j, ']');
}

void json_written(struct json *j, const char *values, size_t n)
{
	if (n)
		put(j, values + !j->comma, n - !j->comma);
	j->comma |= n > 0;
}

/* ---- texts ---- */

#define EACH(byte) ((uint64_t)(byte)*0x0101010101010101u)

/* Is there a byte in it that is 0? Exact where no byte has its high bit set. */
static uint64_t zeros(uint64_t bytes)
{
	return (bytes - EACH(1)) & ~bytes & EACH(0x80);
}

/* Eight characters that stand for themselves, whoever looks: from ' ' to '~', no quote, no backslash. */
static bool all_plain(uint64_t bytes)
{
	uint64_t low = bytes - EACH(' '), high = bytes + EACH(1);

	return !((bytes | low | high) & EACH(0x80)) && !zeros(bytes ^ EACH('"')) && !zeros(bytes ^ EACH('\\'));
}

static bool plain(char c)
{
	return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

/* Of n bytes those up to the first that is not plain. */
static size_t copy_plain(char *to, const char *s, size_t n)
{
	size_t i = 0;

	for (uint64_t bytes; i + sizeof(bytes) <= n; i += sizeof(bytes)) {
		memcpy(&bytes, s + i, sizeof(bytes));
		if (!all_plain(bytes))
			break;
		memcpy(to + i, &bytes, sizeof(bytes));
	}
	for (; i < n && plain(s[i]); i++)
		to[i] = s[i];
	return i;
}

static void put_escaped(struct json *j, const char *s)
{
	static const char hex[] = "0123456789ABCDEF", letters[] = "btn?fr"; /* from 8 on */

	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		char *at = room(j, 6);

		if (c >= ' ' && c != '"' && c != '\\') {
			*at++ = *s;
		} else {
			*at++ = '\\';
			if (c >= ' ') {
				*at++ = *s;
			} else if (c >= '\b' && c <= '\r' && c != '\v') {
				*at++ = letters[c - '\b'];
			} else {
				*at++ = 'u';
				*at++ = '0';
				*at++ = '0';
				*at++ = hex[c >> 4];
				*at++ = hex[c & 15];
			}
		}
		j->used = (size_t)(at - j->buffer);
	}
}

/* Characters that are not plain, or many. */
static void text_slowly(struct json *j, const char *s)
{
	char clean[TEXT_MOST], *at;

	if (j->shown)
		text_clean(clean, sizeof(clean), s, sizeof(clean));
	else
		text_utf8_only(clean, sizeof(clean), s);
	at = begin(j, 1);
	*at++ = '"';
	j->used = (size_t)(at - j->buffer);
	put_escaped(j, clean);
	at = room(j, 1);
	*at = '"';
	j->used++;
}

/* Without what comes behind it. */
static void quoted(struct json *j, const char *s)
{
	size_t n = strlen(s);
	char *at;

	if (n <= PLAIN_MOST) {
		at = begin(j, n + 2);
		*at++ = '"';
		if (copy_plain(at, s, n) == n) {
			at[n] = '"';
			j->used = (size_t)(at - j->buffer) + n + 1;
			return;
		}
	}
	text_slowly(j, s);
}

void json_text(struct json *j, const char *s)
{
	quoted(j, s);
	end(j, j->buffer + j->used);
}

void json_key_plain(struct json *j, const char *key, size_t n)
{
	char *at = begin(j, n + 3);

	*at++ = '"';
	memcpy(at, key, n);
	at += n;
	*at++ = '"';
	*at++ = ':';
	j->used = (size_t)(at - j->buffer);
	j->comma = false;
}

void json_key_any(struct json *j, const char *key)
{
	quoted(j, key);
	put(j, ":", 1);
	j->comma = false;
}

void json_base64(struct json *j, const void *bytes, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *p = bytes;
	char *at = begin(j, 1);

	*at++ = '"';
	j->used = (size_t)(at - j->buffer);
	for (size_t i = 0; i < n; i += 3) {
		uint32_t v =
			(uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) | (i + 2 < n ? p[i + 2] : 0);

		at = room(j, 4);
		at[0] = digits[v >> 18];
		at[1] = digits[v >> 12 & 63];
		at[2] = i + 1 < n ? digits[v >> 6 & 63] : '=';
		at[3] = i + 2 < n ? digits[v & 63] : '=';
		j->used += 4;
	}
	at = room(j, 1);
	*at = '"';
	end(j, at + 1);
}

/* ---- numbers ---- */

void json_int(struct json *j, int64_t v)
{
	char *at = begin(j, NUMBER_MOST);

	if (v < 0)
		*at++ = '-';
	end(j, text_digits(at, v < 0 ? -(uint64_t)v : (uint64_t)v));
}

void json_uint(struct json *j, uint64_t v)
{
	end(j, text_digits(begin(j, NUMBER_MOST), v));
}

void json_double(struct json *j, double v)
{
	char *at = begin(j, NUMBER_MOST);

	end(j, at + snprintf(at, NUMBER_MOST, "%.9g", isfinite(v) ? v : 0.0));
}

void json_bool(struct json *j, bool v)
{
	json_number(j, v ? "true" : "false");
}

void json_number(struct json *j, const char *digits)
{
	size_t n = strlen(digits);
	char *at = begin(j, n);

	memcpy(at, digits, n);
	end(j, at + n);
}
