/* SPDX-License-Identifier: BSD-2-Clause */
/* reader_file.h: the bytes of a trace file, a segment at a time, in memory that nobody else writes to.
 *
 * A file is never mapped: others may cut it short (a mapping then kills its reader), and the recorder gives old segments up while they
 * are read. What is checked here is what is used. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/format.h"

struct reader_file {
	const uint8_t *bytes; /* in memory altogether, borrowed; else NULL and */
	int fd;
	uint64_t len;    /* of the file, when it was opened */
	uint8_t *buffer; /* [GST_SEGMENT_BYTES] the segment at hand */
};

/* How much of [at, at + size) there is. -1: errno says why. */
int64_t reader_file_get(const struct reader_file *f, void *to, size_t size, uint64_t at);

/* The segment as it stands now; *room: how much of it the file holds. NULL: it cannot be read. Valid until the next one. open: its thread may
 * be writing to it. */
const uint8_t *reader_file_segment(struct reader_file *f, uint32_t index, bool open, uint32_t *room);

void reader_file_close(struct reader_file *f);
