/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_story.h: what happened where there was no room: who asked for how much, what was tried, how it ended. The map of that moment
 * is added when the events are gone through (memory.c). */
#pragma once

#include "memory_events.h"
#include "memory_process.h"

enum memory_outcome {
	MEMORY_FAILED,  /* the program got an out-of-memory error */
	MEMORY_RETRIED, /* a framework's allocator gave back what it had cached, tried again and had room */
};

struct memory_story {
	const struct trace *trace;
	uint32_t process, tid;
	uint16_t ordinal;                 /* of the device; from MEMORY_ORDINALS on not said */
	int64_t begin_ns, end_ns;         /* entry of the first call that was refused; the end of it all */
	const struct call *first, *last;  /* that were refused; NULL: only the framework says so */
	const struct block_event *block;  /* what the framework says of it in the end, NULL: none asked */
	const struct memory_left *left;   /* what the device had left, NULL not known */
	uint64_t asked;                   /* bytes: of the framework where it asked, else of the call */
	uint64_t refusals;
	enum memory_outcome outcome;
	/* from here on by memory.c */
	size_t device;                    /* index, MEMORY_NOWHERE not known */
	struct memory_use before, at;     /* of this process, when it began, and in the end */
	uint64_t given_back, ranges_given_back; /* to the driver, by this thread meanwhile */
	struct memory_piece *pieces;      /* at end_ns, NULL: not kept */
	size_t n_pieces;
	uint64_t pieces_left_out;
};

struct memory_stories {
	struct memory_story *at;
	size_t n, cap;
};

/* Those of a run, by the time of their end. False: no memory. */
bool memory_stories_build(struct memory_stories *out, const struct run *run);
void memory_stories_free(struct memory_stories *s);

/* Free bytes that are there in the end, those of the device too where they are known. */
uint64_t memory_story_free(const struct memory_story *s);
/* Would it have had room in one piece of all that was free? */
bool memory_story_enough(const struct memory_story *s);
