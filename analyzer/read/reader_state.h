/* SPDX-License-Identifier: BSD-2-Clause */
/* reader_state.h: what opening a file (reader_open.c) and going through its records (reader.c) share. */
#pragma once

#include "reader.h"
#include "reader_file.h"
#include "reader_types.h"

struct segment {
	struct gst_segment_header header; /* as it was when the file was opened */
	bool open;                        /* no other continues it: its thread may still write to it */
	bool met;                         /* its records were handed out */
};

struct reader {
	struct reader_file file;
	char name[512];
	struct gst_file_header header;
	struct gst_counters counters;
	bool live;                /* it had no regular end when it was opened: the recorder may go on */
	struct segment *segments; /* those with a whole header, in their threads' order; behind them the kept ones */
	size_t n_segments, cap_segments;
	size_t n_own;         /* not kept */
	uint64_t whole_ticks; /* bounds what is missing: begin_ticks of the last segment whose header held */
	bool has_kept;        /* a kept one was seen */
	bool kept_found;      /* the kept ones are in the list */
	uint32_t *place;      /* by index, from then on: of the own segment there in `segments`, and 1; 0 none */
	/* where reader_next is */
	size_t segment;       /* position in segments */
	const uint8_t *bytes; /* of that segment, NULL: not yet there */
	uint64_t segment_byte; /* where it lies in the file */
	const struct record_form *forms; /* of the file's kind */
	uint32_t room, offset, tid;
	bool skip;           /* copies of what was met where it was written */
	uint64_t good_ticks; /* end of the last good record of this segment */
	struct reader_counts counts;
	uint32_t told; /* of each byte so many are told as done: those of parts that others go through, who tell nobody */
	bool damaged;
	struct damage damage;
};

/* Keeps the earliest cut; among equal cuts the first place found. */
void reader_damage_set(struct reader *r, uint64_t cut_ticks, uint64_t byte, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Of a file that is being written: has the segment been given up since it was opened, or is it another one now? */
bool reader_is_gone(const struct reader *r, const struct gst_segment_header *then, const void *now);

/* Appends the kept segments; of a file that is being written, those of this moment. False: no memory. */
bool reader_find_kept(struct reader *r);

/* No error where the header is whole. */
enum err_kind reader_check_header(struct reader *r, struct error *e);
