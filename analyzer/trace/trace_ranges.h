/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_ranges.h: what a program said through NVTX: GST_RANGE, GST_RANGE_DATA, GST_NVTX -> ranges with names, by time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/format.h"

struct clock;
struct names;
struct trace;

struct range { /* fields as in FORMAT.md; every text is borrowed from the trace and untrusted */
	int64_t begin_ns;
	int64_t end_ns;       /* INT64_MAX: not known to have ended; of one whose end was lost the latest there can be (range_ends.h) */
	uint64_t payload;
	const char *domain;   /* NULL the default domain */
	const char *name;     /* without its number; NULL none */
	const char *category; /* NULL none, or without a name */
	const char *details;  /* "field value, field value": its structured payload; NULL none */
	uint32_t id, tid;
	uint32_t ended_by;    /* thread, tid where it has not ended */
	uint32_t number;
	uint16_t level;
	uint8_t kind, payload_kind;
	bool numbered;        /* `number` is the last part of the name */
};

/* Whose NVTX's slot was. */
struct nvtx_slot {
	uint32_t what;    /* enum gst_nvtx_what: OURS, TAKEN, OFF; 0: an older recorder's file */
	const char *tool; /* that has it, NULL not TAKEN */
	uint32_t copies;  /* of NVTX that were given our functions */
};

struct ranges_room; /* while a file is decoded */

bool ranges_new(struct ranges_room **out);
void ranges_free(struct ranges_room *room);

/* First pass. False: no memory. */
bool ranges_said(struct ranges_room *room, const struct gst_nvtx *r);
/* Second pass. */
bool ranges_add(struct ranges_room *room, const struct gst_range *r, uint32_t tid, const struct names *names,
		const struct trace *t, struct clock *clock);
bool ranges_add_data(struct ranges_room *room, const struct gst_range_data *r, const struct names *names, const struct trace *t);
/* Fills t->ranges, n_ranges, range_text and nvtx. */
void ranges_publish(struct ranges_room *room, const struct names *names, struct trace *t);

/* The whole name, for people: "step 12"; "range" where it has none. Untrusted text, cut to size. */
const char *range_name(char *buf, size_t size, const struct range *r);
