/* SPDX-License-Identifier: BSD-2-Clause */
/* progress.h: how far long work is. The library never prints: its stages say here what they have done of how much, and who listens is told
 * now and then, in the thread that works. Where nobody listens it costs a comparison. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum progress_unit { PROGRESS_BYTES, PROGRESS_ITEMS };

enum progress_stage {
#define STAGE(id, words, unit, share) PROGRESS_##id,
#include "progress.def"
#undef STAGE
	PROGRESS_STAGES
};

struct progress {
	void (*tell)(struct progress *p); /* at the beginning of a stage, and whenever a few thousandths more of it are done */
	enum progress_stage stage;
	uint64_t done, of; /* of the stage; done may be more: the recording has grown meanwhile */
	uint64_t next;     /* `tell` is called when so much is done */
	enum progress_stage last; /* what comes behind it is not done */
};

/* Whom this thread tells from now on; NULL nobody. Borrowed. */
void progress_listen(struct progress *p);

void progress_begin(enum progress_stage stage, uint64_t of);
void progress_more(uint64_t of); /* the stage turned out to be longer */
void progress_add(uint64_t done);
bool progress_is_heard(void); /* does somebody listen to this thread? */

const char *progress_words(enum progress_stage stage);
enum progress_unit progress_unit(enum progress_stage stage);

/* Of the stage, and of all of them by the time they take: 0 to 1. */
double progress_part(const struct progress *p);
double progress_whole(const struct progress *p);
