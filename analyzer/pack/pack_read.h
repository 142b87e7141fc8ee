/* SPDX-License-Identifier: BSD-2-Clause */
/* pack_read.h: archives of recordings (PACK.md): what is in one, and its members as they were. Untrusted: every size is checked before it is
 * used, every byte is under a check, and no name leaves the archive that is not that of a file in a folder. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/format.h"
#include "tools/error.h"

struct pack_file;

struct pack_member {
	const char *name; /* no '/', no control characters; ends in .gst */
	uint64_t length;  /* of the file */
	uint32_t kind;    /* enum gst_file_kind */
	uint64_t packed;  /* bytes in the archive */
};

/* By its first bytes; false also where it cannot be read. */
bool pack_is(const char *path);

/* Could it be that of a file in a folder, and is it fit to be printed? It ends in .gst. */
bool pack_name_fits(const char *name, size_t n);

/* The header, the directory, and that the blocks lie one behind the other are checked. */
enum err_kind pack_open(struct pack_file **out, const char *path, struct error *e);
enum err_kind pack_open_mem(struct pack_file **out, const void *bytes, size_t len, const char *name, struct error *e); /* bytes: borrowed */
void pack_close(struct pack_file *p);

size_t pack_members(const struct pack_file *p);
struct pack_member pack_member(const struct pack_file *p, size_t i);

/* Every block's check. */
enum err_kind pack_check(struct pack_file *p, struct error *e);

/* What stands before the segments of a member: header, counters, directory. Returns its bytes in *n; to be freed. */
enum err_kind pack_front(struct pack_file *p, size_t i, uint8_t **out, size_t *n, struct error *e);

/* The member's bytes, from the front to the end, in pieces; those between them are zero. False: stop, with the error set. */
typedef bool pack_take(void *to, const uint8_t *bytes, size_t n, uint64_t at, struct error *e);
enum err_kind pack_unpack(struct pack_file *p, size_t i, pack_take *take, void *to, struct error *e);
/* … into an empty file; what is zero is left out of it. name: what errors call it. */
enum err_kind pack_unpack_file(struct pack_file *p, size_t i, int fd, const char *name, struct error *e);

/* ARCHIVE/MEMBER: an unnamed file with what that was. -1: there is no such archive (kind ERR_NONE), or why. */
int pack_open_path(const char *path, struct error *e);
