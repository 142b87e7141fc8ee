/* SPDX-License-Identifier: BSD-2-Clause */
/* export_perfetto_parts.h: sequences of packets. Each track is a sequence of its own, so that what its packets have in common is said once:
 * its track, its clock, which counts from each packet to the next, and its texts, which have numbers. In a file:
 *   clocks, when the trace begins           processes, devices, tracks
 *   of each track: state (cleared: its defaults, where its clock stands), then events, new texts with the first event that has them
 * A reader needs no more than one state to begin at; so a track whose texts become too many to keep has another. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/hash_index.h"
#include "tools/interned.h"
#include "tools/protobuf.h"

/* Numbers of fields, as perfetto_trace.proto has them. */
enum {
	TRACE_PACKET = 1,

	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_CLOCK = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60,

	DEFAULTS_EVENT = 11,
	DEFAULTS_CLOCK = 58,

	SNAPSHOT_CLOCK = 1,
	SNAPSHOT_PRIMARY = 2,
	CLOCK_ID = 1,
	CLOCK_TIMESTAMP = 2,
	CLOCK_INCREMENTAL = 3,

	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	TRACK_CHILD_ORDER = 11,
	TRACK_RANK = 12,
	PROCESS_PID = 1,
	PROCESS_SORT = 3,
	PROCESS_NAME = 6,
	COUNTER_UNIT = 3,

	EVENT_CATEGORY = 3,
	EVENT_ARG = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_COUNTER = 30,
	EVENT_FLOW = 47,
	EVENT_FLOW_END = 48,

	ARG_NAME = 1,
	ARG_INT = 4,
	ARG_DOUBLE = 5,
	ARG_TEXT = 6,
	ARG_ARRAY = 12,
	ARG_TEXT_NUMBER = 17,

	INTERNED_NUMBER = 1,
	INTERNED_TEXT = 2,
};

enum { CLEARED = 1 }; /* PACKET_FLAGS; those that need the state do not say so (2), which is for traces that lose packets: 8 bytes a launch */
enum { SLICE_BEGIN = 1, SLICE_END = 2, COUNTER = 4 }; /* EVENT_TYPE */
enum { REALTIME = 1, MONOTONIC = 3, FROM_LAST = 64 }; /* CLOCK_ID; from 64 on each sequence has its own */
enum { EXPLICIT = 3 };   /* TRACK_CHILD_ORDER */
enum { SIZE_BYTES = 3 }; /* COUNTER_UNIT */

/* What has numbers of its own. */
enum text_kind { CATEGORIES, NAMES, ARG_NAMES, ARG_TEXTS };

/* kind 0: slices of (pid, tid); 1, 2, …: the counters of pid */
struct sequence {
	uint32_t pid, tid, kind, id;
	uint64_t uuid;
	bool told;        /* its state is in the file */
	int64_t last_ns;  /* of the clock that counts from packet to packet */
	int64_t *ends;    /* of the slices that are still open, the innermost last */
	size_t n, cap;
	struct interned texts;
};

struct sequences {
	FILE *out;
	int64_t base_ns; /* of the first event on the clock MONOTONIC */
	uint64_t seed;   /* of the tracks' numbers */
	struct sequence *at; size_t n, cap; /* as they came up */
	struct hash_index index;            /* by pid, tid, kind */
	struct pb packet, event, texts;     /* texts: those that the event is the first to have */
	bool failed;                        /* memory was short */
};

void sequences_free(struct sequences *s);

uint64_t sequence_uuid(const struct sequences *s, uint32_t pid, uint32_t tid, uint32_t kind);
/* The one of (pid, tid, kind), made where it is new. NULL: no memory. Valid until the next call. */
struct sequence *sequence_get(struct sequences *s, uint32_t pid, uint32_t tid, uint32_t kind, bool *is_new);

/* An event of the sequence, s->event, is about to be filled in. */
void event_open(struct sequences *s, struct sequence *q);
/* The text's number in the sequence. */
uint32_t event_text(struct sequences *s, struct sequence *q, enum text_kind kind, const char *text);
/* It is complete, and into the file. at_ns: from the first event. */
void event_close(struct sequences *s, struct sequence *q, int64_t at_ns);

/* Ends the open slices that are over by then. */
void slices_end(struct sequences *s, struct sequence *q, int64_t by_ns);
