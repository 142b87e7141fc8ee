/* SPDX-License-Identifier: BSD-2-Clause */
/* import_kineto_read.h: a Kineto or Chrome trace -> its events, one at a time, as flat structures; nothing is kept of one when the next comes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import_facts.h"
#include "import_us.h"
#include "tools/error.h"

enum kineto_class {
	KINETO_UNKNOWN, /* a category that is not in the list, or none */
	KINETO_KERNEL,
	KINETO_COPY,
	KINETO_MEMSET,
	KINETO_CALL,
	KINETO_OPERATOR,
	KINETO_ANNOTATION,
	KINETO_PYTHON,
	KINETO_OVERHEAD,
	KINETO_FLOW,
	KINETO_LEFT_OUT,
};

enum kineto_field {
	KINETO_FIELD_NONE,
	KINETO_FIELD_EVENTS, KINETO_FIELD_DEVICES, KINETO_FIELD_DISTRIBUTED, KINETO_FIELD_BASE, KINETO_FIELD_HOST, KINETO_FIELD_NOTES,
	KINETO_FIELD_DEVICE_ID, KINETO_FIELD_DEVICE_NAME, KINETO_FIELD_DEVICE_MEMORY, KINETO_FIELD_RANK, KINETO_FIELD_RANKS,
	KINETO_FIELD_PHASE, KINETO_FIELD_CATEGORY, KINETO_FIELD_ARGS,
	KINETO_FIELD_NAME, KINETO_FIELD_LABEL, KINETO_FIELD_BEGIN, KINETO_FIELD_DURATION,
	/* texts that are said or not */
	KINETO_FIELD_COLLECTIVE, KINETO_FIELD_GROUP, KINETO_FIELD_GROUP_RANKS, KINETO_FIELD_DTYPE,
	/* whole numbers, in kineto_event.number */
	KINETO_FIELD_PID, KINETO_FIELD_TID, KINETO_FIELD_ID, KINETO_FIELD_CORRELATION, KINETO_FIELD_DEVICE, KINETO_FIELD_STREAM, KINETO_FIELD_QUEUE,
	KINETO_FIELD_CONTEXT, KINETO_FIELD_BYTES, KINETO_FIELD_ADDRESS, KINETO_FIELD_NODE, KINETO_FIELD_DEVICE_TYPE, KINETO_FIELD_ALLOCATED,
	KINETO_FIELD_RESERVED, KINETO_FIELD_GROUP_SIZE, KINETO_FIELD_FIRST_RANK, KINETO_FIELD_RANK_STRIDE, KINETO_FIELD_ELEMENTS_IN,
	KINETO_FIELD_ELEMENTS_OUT, KINETO_FIELD_SEQ,
	KINETO_FIELDS,
};

#define KINETO_NUMBERS (KINETO_FIELDS - KINETO_FIELD_PID)
#define KINETO_SAID(field) (1ull << KINETO_FIELD_##field)

struct kineto_event {
	uint64_t place;
	uint64_t said; /* KINETO_SAID: which of its fields are there, and are what they should be */
	char phase;    /* of "ph"; 0 none */
	enum kineto_class class;
	struct import_us begin, duration;
	struct import_text name, category; /* the reader's; category: of one that is not known */
	struct import_text label;          /* args.name, args.labels */
	struct import_text pid, tid;       /* where these are texts */
	struct import_text words[KINETO_FIELD_DTYPE - KINETO_FIELD_COLLECTIVE + 1]; /* by field, less COLLECTIVE; where they are said */
	/* By field, less KINETO_FIELD_PID. Of pid, tid and id that are texts: the number that is written in them, else one that their letters make. */
	uint64_t number[KINETO_NUMBERS];
};

static inline uint64_t kineto_number(const struct kineto_event *e, enum kineto_field field)
{
	return e->number[field - KINETO_FIELD_PID];
}

/* What the file says of itself, beside its events. False: no memory. */
struct kineto_calls {
	bool (*event)(void *to, const struct kineto_event *e);
	bool (*device)(void *to, uint64_t id, struct import_text name, uint64_t memory_bytes);
	bool (*rank)(void *to, uint64_t rank, uint64_t ranks); /* ranks 0: not known */
	bool (*host)(void *to, struct import_text name);
	bool (*base)(void *to, int64_t ns); /* time 0, as time of day */
	bool (*note)(void *to, struct import_text words); /* a warning or an error of the profiler's */
};

/* *events: the list of them was there, however long. Otherwise as import_json_read. */
enum err_kind kineto_read(const char *path, const struct kineto_calls *calls, void *to, bool *events, struct error *damage,
			  struct error *e);
