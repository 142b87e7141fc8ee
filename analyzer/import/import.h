/* SPDX-License-Identifier: BSD-2-Clause */
/* import.h: another tool's trace -> the processes in it, told apart by what the file holds, never by its name. */
#pragma once

#include <stdbool.h>

#include "import_facts.h"
#include "tools/error.h"
#include "trace/trace.h"

enum import_format { IMPORT_NONE, IMPORT_KINETO, IMPORT_NSYS };

/* By the file's first bytes; NONE: none of these (a .gst is none). A gzip file is looked into. Errors are those of reading. */
enum err_kind import_sniff(enum import_format *out, const char *path, struct error *e);

/* One trace for each process of the file that did something, by pid; the array and the traces are the caller's. Damage is no failure: what
 * precedes it is there, and trace.damage says where it is. */
enum err_kind import_open(struct trace ***out, size_t *n, const char *path, enum import_format format, struct error *e);

/* What each importer gives: reads all of it into b. A failure (no memory, no such format at all) is returned; damage goes to *damage with byte
 * or row, and what precedes counts. cut_ns of *damage is not set by importers. */
enum err_kind import_kineto(struct import_build *b, const char *path, struct error *damage, struct error *e);
enum err_kind import_nsys(struct import_build *b, const char *path, struct error *damage, struct error *e);

#define PLACE_TEXT 96 /* room for any */

/* For evidence: "byte 4176", or "row 12 of CUPTI_ACTIVITY_KIND_RUNTIME". */
const char *import_place_text(char *buf, size_t size, const struct trace *t, uint64_t place);
/* Name of an Nsight table by its number (IMPORT_TABLE); NULL none. */
const char *import_nsys_table(unsigned table);
