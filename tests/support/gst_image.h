/* SPDX-License-Identifier: BSD-2-Clause */
/* gst_image.h: .gst files made by hand, in memory: records are appended as the shim would write them, with every check value
 * right. What tests damage afterwards is theirs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/format.h"

struct gst_image {
	uint8_t *bytes; /* the file; free with gst_image_free */
	size_t len;
	uint32_t n_segments;
	uint32_t segment;  /* where records go now */
	uint32_t offset[64]; /* next free byte of each segment */
	uint64_t last_ticks; /* begin of the next segment */
};

/* A header with CLOCK_MONOTONIC ticks and level EDGES; false: no memory. */
bool gst_image_new(struct gst_image *image);
void gst_image_free(struct gst_image *image);

/* After a change to the header's fields. */
struct gst_file_header *gst_image_header(struct gst_image *image);
struct gst_counters *gst_image_counters(struct gst_image *image);
void gst_image_seal(struct gst_image *image);

/* A new segment of thread tid, which records go to from now on. */
bool gst_image_segment(struct gst_image *image, uint32_t tid, const char *name);
/* … of what is known of it: recycles, flags, thread_seq, previous, previous_recycles. */
bool gst_image_segment_as(struct gst_image *image, uint32_t tid, const char *name, const struct gst_segment_header *more);
/* Takes a segment out, as the recorder gives one up. */
void gst_image_give_up(struct gst_image *image, uint32_t segment);
/* Back to an earlier one. */
void gst_image_select(struct gst_image *image, uint32_t segment);

/* Copies a record, sets its header (size rounded up to 8); unfinished leaves commit 0. Its offset in the file, 0 if it found no room. */
uint64_t gst_image_add(struct gst_image *image, uint16_t type, const void *record, size_t size, bool finished);
/* A name's text follows its record. */
uint64_t gst_image_name(struct gst_image *image, uint16_t space, uint32_t id, const char *text, size_t length);
