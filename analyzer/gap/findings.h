/* SPDX-License-Identifier: BSD-2-Clause */
/* findings.h: what a rule proposes, and what it puts it into. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cause_id {
#define CAUSE(name, id, title, advice) CAUSE_##name,
#define CAUSE_RULE CAUSE
#include "cause/causes.def"
	CAUSE_COUNT
};

enum confidence { CONFIDENCE_INFERRED, CONFIDENCE_OBSERVED };

struct chain_segment;

#define EVIDENCE_BYTES 320
#define STATE_BYTES 48

struct finding_words {
	char state[STATE_BYTES]; /* what the submitting thread was in */
	char evidence[EVIDENCE_BYTES];
};

struct finding { /* a proposal */
	int64_t begin_ns, end_ns;
	enum cause_id cause;
	enum confidence confidence;
	bool remainder; /* only what no other rule proposes a cause for */
	uint32_t n_chain;  /* threads on the way to what it waited for; 0 nothing is said of any, 1 the submitting thread alone */
	uint32_t pid, tid; /* the submitting thread's */
	const struct chain_segment *way; /* not NULL: links and evidence are made of it, if they are wanted; it lives as long as the view */
	struct finding_words *words;     /* where there is no way, else NULL */
};

struct findings {
	struct finding *at;
	size_t n, cap;
	struct finding_words **words; size_t n_words, n_made, cap_words; /* in use; there; each stays where it is */
	bool failed; /* no memory: something is missing */
};

/* A new proposal to fill in, zeroed but for the arguments. Never NULL: where there is no memory it is a scratch that is thrown
 * away, and failed says so. */
struct finding *findings_add(struct findings *list, enum cause_id cause, enum confidence confidence, int64_t begin_ns,
			     int64_t end_ns);
/* … of a chain: of these there may be a hundred thousand in a gap. */
struct finding *findings_add_way(struct findings *list, const struct chain_segment *way, enum cause_id cause, enum confidence confidence,
				 int64_t begin_ns, int64_t end_ns);
void findings_clear(struct findings *list);
void findings_free(struct findings *list);
