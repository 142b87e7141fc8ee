/* SPDX-License-Identifier: BSD-2-Clause */
/* findings.h: what a rule proposes, and what it puts it into. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cause_id {
#define CAUSE(name, id, title, advice) CAUSE_##name,
#include "causes.def"
#undef CAUSE
	CAUSE_COUNT
};

enum confidence { CONFIDENCE_INFERRED, CONFIDENCE_OBSERVED };

#define EVIDENCE_BYTES 320
#define CHAIN_LINKS 4

struct chain_link { /* one thread's state on the way from the submitting thread to the leaf */
	uint32_t pid, tid;
	char state[48];
	int64_t begin_ns, end_ns;
	char woken_by[32];
};

struct finding { /* a proposal */
	int64_t begin_ns, end_ns;
	enum cause_id cause;
	enum confidence confidence;
	bool remainder; /* only what no other rule proposes a cause for */
	uint32_t n_chain;
	struct chain_link chain[CHAIN_LINKS]; /* [0] is the submitting thread; the engine fills in the times */
	char evidence[EVIDENCE_BYTES];
};

struct findings {
	struct finding *at;
	size_t n, cap;
	bool failed; /* no memory: something is missing */
};

/* A new proposal to fill in, zeroed but for the arguments. Never NULL: where there is no memory it is a scratch that is thrown
 * away, and failed says so. */
struct finding *findings_add(struct findings *list, enum cause_id cause, enum confidence confidence, int64_t begin_ns,
			     int64_t end_ns);
void findings_free(struct findings *list);
