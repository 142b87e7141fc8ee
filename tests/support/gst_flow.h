/* SPDX-License-Identifier: BSD-2-Clause */
/* gst_flow.h: a .gst file of any length, written a segment at a time: memory for one segment is all it takes. One process, one
 * thread. Records are made as for gst_image.h; they must come in the order in which their thread would have written them. */
#pragma once

#include <stdio.h>

#include "gst_image.h"

struct gst_flow {
	FILE *file;
	struct gst_image image; /* the file's head and the one segment that is being filled */
	uint32_t segments;      /* written */
	uint32_t tid;
	char thread[16];
	bool failed;
};

/* A file of this process, its begin at `ns` of CLOCK_MONOTONIC; false: errno. */
bool gst_flow_open(struct gst_flow *flow, const char *path, uint32_t pid, const char *command, uint64_t ns);

/* Begins a new segment where this one is full. */
void gst_flow_add(struct gst_flow *flow, uint16_t type, const void *record, size_t size);
void gst_flow_name(struct gst_flow *flow, uint16_t space, uint32_t id, const char *text);

/* `ns`: when the process exited. False: something of all that could not be written. */
bool gst_flow_close(struct gst_flow *flow, uint64_t ns);
