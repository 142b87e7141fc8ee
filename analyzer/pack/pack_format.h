/* SPDX-License-Identifier: BSD-2-Clause */
/* pack_format.h: the archive of recordings in C; PACK.md is the same in words and comes first. Little endian, fixed widths.
 *
 *   pack_header | blocks of the first member | blocks of the second … | directory: pack_entry, name, pack_entry, name … | pack_end
 *
 * Nothing lies between them, and each byte is under a check. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shim/format.h"

#define PACK_MAGIC "\x89GPK\r\n\x1a\n" /* 8 bytes, the terminator not counted */
#define PACK_VERSION 3u
#define PACK_VERSION_PLAIN 2u /* … that knows nothing of rounded numbers: is read as well */
#define PACK_SUFFIX ".gpk" /* by which a directory's archives are found; a path that is named may have any name */

struct pack_header {
	uint8_t magic[8];
	uint32_t version;
	uint32_t check; /* CRC-32 of what stands before it */
};
_Static_assert(sizeof(struct pack_header) == 16, "header");

#define PACK_BLOCK_MARK 0x4b425047u /* "GPBK" */
#define PACK_BLOCK_SEGMENTS 16u     /* in one block, at most */
struct pack_block {
	uint32_t mark;
	uint32_t member;   /* its number in the directory */
	uint32_t number;   /* 0: what stands before the segments; 1, 2 … */
	uint32_t segments; /* that it holds */
	uint32_t plain;    /* bytes of its columns (of number 0: of the file), */
	uint32_t packed;   /* … in a zstd frame, right behind this; 0: none */
	uint32_t bits;     /* bytes of the row of bits, behind that */
	uint32_t check;    /* CRC-32 of this but for this field, then of all that is behind it */
};
_Static_assert(sizeof(struct pack_block) == 32, "block");

#define PACK_BLOCK_BYTES (PACK_BLOCK_SEGMENTS * GST_SEGMENT_BYTES) /* of the recording, at most */

#define PACK_LEVEL 17 /* of zstd's, by which archives are written: beyond, it takes twice the time for 1 % */

/* What one says it has is refused beyond: so memory is bounded, whatever it says. */
#define PACK_PLAIN_MOST (4u * PACK_BLOCK_BYTES)
#define PACK_LENGTH_MOST (GST_SEGMENTS_OFFSET + (uint64_t)GST_SEGMENT_CAPACITY * GST_SEGMENT_BYTES)

struct pack_entry {
	uint64_t begin;  /* byte of its first block */
	uint64_t length; /* of the recording's file */
	uint64_t step;   /* of its clock, ticks, 32 bits of them behind the point; 0: each tick counts */
	uint64_t pace;   /* ns of a tick, 32 bits of them behind the point; 0: not known */
	uint32_t blocks;
	uint32_t kind;    /* enum gst_file_kind */
	uint32_t content; /* CRC-32 of the file */
	uint32_t name;    /* bytes of its name, right behind this */
};
_Static_assert(sizeof(struct pack_entry) == 48, "entry");
#define PACK_NAME_MOST 255u
#define PACK_MEMBERS_MOST 65536u
#define PACK_STEP_MOST (1ull << 40)
#define PACK_PACE_MOST (1ull << 48)

#define PACK_END_MARK 0x45445047u /* "GPDE" */
struct pack_end { /* the archive's last bytes */
	uint64_t directory; /* byte at which it begins */
	uint64_t bytes;     /* of it */
	uint32_t members;
	uint32_t check; /* CRC-32 of the directory, then of this but for this field and the mark */
	uint32_t mark;
	uint32_t zero;
};
_Static_assert(sizeof(struct pack_end) == 32, "end");
