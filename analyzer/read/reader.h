/* SPDX-License-Identifier: BSD-2-Clause */
/* reader.h: bytes -> checked records. The only code that meets untrusted .gst input: whatever it hands out lies inside the
 * file, has a size that its type requires, and names a commit that holds. It trusts no number it has not checked.
 *
 *   struct reader *r;
 *   if (reader_open(&r, path, &err)) return err.kind;
 *   while (reader_next(r, &view)) …            records of one segment after another
 *   if (reader_damage(r)) …                     what stopped it early, if anything did
 *   reader_free(r);
 *
 * A file that is still being written reads as far as it is finished. Its oldest segments may be given up meanwhile: what was not read by then
 * is left out, and reader_settle says until when something may be missing. Kept segments (FORMAT.md, "Recycling") come last. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/format.h"
#include "tools/error.h"

struct reader;

struct record_view {
	const struct gst_record *record; /* borrowed, valid until the next one; size already checked against its type */
	uint64_t byte;                   /* where it lies in the file */
	uint32_t segment;                /* index */
	uint32_t tid;                    /* thread that wrote it */
	bool kept; /* a copy from a segment that was given up: what it says is true, when it was written is not known */
};

/* Damage does not stop the opening of a file whose header is whole. cut_ticks: nothing after that instant is known to be complete. */
struct damage {
	struct error error;
	uint64_t cut_ticks;
};

enum err_kind reader_open(struct reader **out, const char *path, struct error *e);
/* Its header alone, checked as by reader_open. */
enum err_kind reader_read_header(struct gst_file_header *out, const char *path, struct error *e);
/* buf is borrowed until reader_free and lies on an 8-byte boundary. name is what errors call it. */
enum err_kind reader_open_mem(struct reader **out, const void *buf, size_t len, const char *name, struct error *e);
void reader_free(struct reader *r);

const struct gst_file_header *reader_header(const struct reader *r);
const struct gst_counters *reader_counters(const struct reader *r);

/* Next record, in segment order, kept ones last; false at the end. Skips unknown types and unfinished records. */
bool reader_next(struct reader *r, struct record_view *out);
/* How many of the records behind the last one are of its type and size and lie one behind the other: they are handed out with it. */
size_t reader_alike(struct reader *r, const struct record_view *last);
void reader_rewind(struct reader *r);

/* Segments [first, first + n) of those in the list, but for kept ones, for who goes through so many parts of a file side by side; reader_segments: how
 * many there are. Borrowed from r, which must not be used meanwhile. NULL: no memory. */
size_t reader_segments(const struct reader *r);
const struct gst_segment_header *reader_segment_at(const struct reader *r, size_t i); /* i < reader_segments */
struct reader *reader_part(const struct reader *r, size_t first, size_t n, size_t parts);
/* When the parts have been gone through, in their order: r counts what they counted, and is damaged as they are. Frees it. */
void reader_join(struct reader *r, struct reader *part);
/* All parts are joined: what comes next is the first kept segment. */
void reader_pass_own(struct reader *r);

/* Header of the segment that the last record came from. */
const struct gst_segment_header *reader_segment(const struct reader *r);

struct reader_counts {
	uint64_t records;    /* handed out since the start or the last rewind */
	uint64_t segments;   /* they came from */
	uint64_t given_up;   /* segments that were gone when their turn came */
	uint64_t unfinished; /* skipped: their writer died in them, or is in them now */
	uint64_t unknown;    /* skipped: a type of a later version */
	bool no_memory;      /* the kept segments could not be listed */
};
struct reader_counts reader_counts(const struct reader *r);

/* After the last pass: the counters' figures of what was given up are those of now, 0 where nothing was. */
enum err_kind reader_settle(struct reader *r, struct error *e);

/* NULL while the file read so far is sound; the earliest cut when several places are damaged, with the first place. Complete once
 * reader_next has returned false. */
const struct damage *reader_damage(const struct reader *r);
