/* SPDX-License-Identifier: BSD-2-Clause */
/* protobuf.h: messages of Protocol Buffers, written field by field into memory.
 *   field:  tag (number << 3 | how) as a varint, then its value
 *   how:    0 varint: seven bits to a byte, lowest first, the top bit set on all but the last; 1: 8 bytes; 2: length as a varint, then so many bytes
 * A message in a message is pb_open, its fields, pb_close. Where memory is short, failed is set and nothing is written any more. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pb {
	uint8_t *at;
	size_t n, cap;
	bool failed;
};

void pb_free(struct pb *m);
void pb_clear(struct pb *m); /* empty again; keeps its memory */

void pb_uint(struct pb *m, uint32_t field, uint64_t value);
void pb_int(struct pb *m, uint32_t field, int64_t value); /* int32, int64: a negative one takes 10 bytes */
void pb_fixed64(struct pb *m, uint32_t field, uint64_t value);
void pb_double(struct pb *m, uint32_t field, double value);
void pb_text(struct pb *m, uint32_t field, const char *text); /* that is UTF-8 (text_utf8_only) */
void pb_message(struct pb *m, uint32_t field, const struct pb *inner); /* one that is complete; of a failed one m fails too */

size_t pb_open(struct pb *m, uint32_t field); /* for pb_close; the innermost is closed first */
void pb_close(struct pb *m, size_t open);

/* The message as a field of a message that is written to a file bit by bit: nothing where it failed. */
void pb_write(FILE *out, uint32_t field, const struct pb *m);
