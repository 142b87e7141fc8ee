/* SPDX-License-Identifier: BSD-2-Clause */
/* pack_parts.h: what opening an archive (pack_read.c) and unpacking its members (pack_unpack.c) share. */
#pragma once

#include "pack_format.h"
#include "pack_read.h"
#include "read/reader_file.h"

#define PACK_WORKERS 4u /* blocks of a recording that are packed or unpacked at a time: each takes memory */

struct pack_part {
	struct pack_entry entry;
	char name[PACK_NAME_MOST + 1];
	uint64_t end; /* byte behind its last block */
};

struct pack_file {
	struct reader_file file;
	char name[512];
	uint32_t version;
	struct pack_part *members;
	size_t n, cap;
};

enum err_kind pack_no_memory(const struct pack_file *p, struct error *e);
/* All of [at, at + n): bytes that are not there are an error of the file's. */
enum err_kind pack_get_bytes(const struct pack_file *p, void *to, size_t n, uint64_t at, struct error *e);
