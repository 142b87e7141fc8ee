/* SPDX-License-Identifier: BSD-2-Clause */
/* json.h: JSON to a FILE, one value after another, without allocation. What cannot be written is found by ferror(). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <yajl/yajl_gen.h>

struct json {
	FILE *file;
	yajl_gen gen;
	size_t used;
	bool shown; /* its texts will stand before people: what steers a terminal, or turns the direction of writing, is a "?" in them */
	_Alignas(16) char pool[4096]; /* the generator's own memory: it never asks the heap, so it never fails */
};

void json_open(struct json *j, FILE *file);
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
void json_raw(struct json *j, const char *value, size_t n); /* any one value that is written already */
void json_base64(struct json *j, const void *bytes, size_t n); /* a text of any length */

/* key: value in one go */
void json_key(struct json *j, const char *key);
void json_key_text(struct json *j, const char *key, const char *s);
void json_key_int(struct json *j, const char *key, int64_t v);
void json_key_uint(struct json *j, const char *key, uint64_t v);
void json_key_double(struct json *j, const char *key, double v);
void json_key_map(struct json *j, const char *key);
void json_key_array(struct json *j, const char *key);
