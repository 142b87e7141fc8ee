/* SPDX-License-Identifier: BSD-2-Clause */
/* json.h: JSON to a FILE, one value after another, without allocation: a long report is mostly written, so this costs little more than copying.
 * What cannot be written is found by ferror().
 *
 * Bytes are gathered in a buffer; they are in the FILE when a top-level value is complete, or after json_flush(). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define JSON_BUFFER 16384

struct json {
	FILE *file;
	bool shown; /* its texts will stand before people: what steers a terminal, or turns the direction of writing, is a "?" in them */
	bool comma; /* before what comes next */
	uint32_t depth;
	size_t used;
	char buffer[JSON_BUFFER];
};

void json_open(struct json *j, FILE *file);
/* For values of an array that another one writes: json_written() puts them there. */
void json_open_values(struct json *j, FILE *file);
void json_flush(struct json *j);
void json_next(struct json *j); /* before another top-level value */

void json_map(struct json *j);
void json_map_end(struct json *j);
void json_array(struct json *j);
void json_array_end(struct json *j);

void json_text(struct json *j, const char *s); /* bytes that are no UTF-8 become U+FFFD */
void json_int(struct json *j, int64_t v);
void json_uint(struct json *j, uint64_t v);    /* addresses and offsets: any 64 bits */
void json_double(struct json *j, double v);    /* not finite: 0 */
void json_bool(struct json *j, bool v);
void json_number(struct json *j, const char *digits); /* a number that is written already */
void json_base64(struct json *j, const void *bytes, size_t n); /* a text of any length */
void json_written(struct json *j, const char *values, size_t n); /* … that json_open_values() began; n 0: none */

/* A key that needs no escaping; before its value. */
void json_key_plain(struct json *j, const char *key, size_t n);
void json_key_any(struct json *j, const char *key);

/* Keys that stand in the source are known to the compiler, with their lengths. */
#define json_key(j, key) \
	(__builtin_constant_p(strlen(key)) ? json_key_plain((j), (key), strlen(key)) : json_key_any((j), (key)))

/* key: value in one go */
#define json_key_text(j, key, s) (json_key(j, key), json_text(j, s))
#define json_key_int(j, key, v) (json_key(j, key), json_int(j, v))
#define json_key_uint(j, key, v) (json_key(j, key), json_uint(j, v))
#define json_key_double(j, key, v) (json_key(j, key), json_double(j, v))
#define json_key_map(j, key) (json_key(j, key), json_map(j))
#define json_key_array(j, key) (json_key(j, key), json_array(j))
