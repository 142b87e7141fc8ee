/* SPDX-License-Identifier: BSD-2-Clause */
/* import_unpack.h: the bytes of a file, unpacked where it is gzip's (several members, one behind another, are one). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/error.h"

/* A packed file that has given so much may not have given so many times its own size: traces reach 30, deflate 1,032. */
#define IMPORT_UNPACK_FREE ((uint64_t)64 << 20)
#define IMPORT_UNPACK_RATIO 250u

struct import_unpack;

enum err_kind import_unpack_open(struct import_unpack **out, const char *path, struct error *e);
/* How many bytes came, 0 at the end or where damage is, -1 with errno. n <= UINT_MAX. */
int64_t import_unpack_read(struct import_unpack *u, void *to, size_t n);
/* Bytes of the file so far, packed as they are. */
uint64_t import_unpack_taken(const struct import_unpack *u);
bool import_unpack_packed(const struct import_unpack *u);
/* What is the matter with the packed bytes, NULL nothing: known once a read gave 0. */
const char *import_unpack_damage(const struct import_unpack *u);
void import_unpack_close(struct import_unpack *u);
