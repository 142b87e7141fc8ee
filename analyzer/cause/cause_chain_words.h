/* SPDX-License-Identifier: BSD-2-Clause */
/* cause_chain_words.h: a chain as a gap's cause keeps it: one link for each thread on the way. */
#pragma once

#include <limits.h>

#include "cause.h"
#include "chain/chain.h"

#define TASK_WORDS 48
#define PATH_WORDS (PATH_MAX + 4) /* a whole one */
#define STATE_WORDS (PATH_WORDS + 64) /* … and what was done to it */
#define LINK_WORDS (NAME_MAX + 64)    /* … with the end of it alone */

/* "python3[29599]": the number that it has for itself. "" for NULL. */
const char *task_words(char buf[TASK_WORDS], const struct host_task *task);
/* What a step was in, clean: "futex", "pread64 /data/x". */
const char *state_words(char buf[STATE_WORDS], const struct host_trace *h, const struct chain_step *s);
/* … without the file. */
const char *call_words(char buf[STATE_WORDS], const struct host_trace *h, const struct chain_step *s);

/* Do both lead over the same threads, in the same states, to the same file? */
bool chain_same_way(const struct chain_segment *a, const struct chain_segment *b);

/* The links of f->way, with its submitting thread as f has it, into c. False: no memory. */
bool chain_keep_links(struct arena *arena, struct gap_cause *c, const struct finding *f, const struct host_trace *h);
/* c has become longer. way: what it was lengthened by, of the same way as what it ended with, `last`; both NULL where there is none. */
void chain_lengthen_links(struct gap_cause *c, const struct chain_segment *last, const struct chain_segment *way);
