/* SPDX-License-Identifier: BSD-2-Clause */
/* advice.h: what to do, in the words of the program's framework, with the figures it rests on.
 *
 * A row of advice.def is one piece of advice: about which loss it is, the sentences, and the function that finds its figures. A row whose
 * loss is less than a hundredth of the time it is about says nothing; what no row is about gets the cause's own line. */
#pragma once

#include "framework.h"
#include "recover.h"

enum advice_id {
#define ADVICE(name, id, about, find, why) ADVICE_##name,
#define DO(name, framework, what)
#include "advice.def"
#undef ADVICE
#undef DO
	ADVICE_OTHER, /* a cause's own line */
	ADVICE_COUNT
};

enum figure_kind { FIGURE_COUNT, FIGURE_NS, FIGURE_BYTES, FIGURE_RATE, FIGURE_REAL, FIGURE_SHARE, FIGURE_TEXT };

struct figure { /* its name is the key in JSON, and says the unit */
	const char *name;
	enum figure_kind kind;
	int64_t n;        /* COUNT, NS, BYTES, RATE (bytes a second) */
	double real;      /* REAL, SHARE */
	const char *text; /* TEXT, clean */
};

#define ADVICE_FIGURES 20
#define ADVICE_EVIDENCE 4

struct advice {
	enum advice_id id;
	enum recover_id about;
	size_t device;          /* index in summary.devices */
	int64_t lost_ns, likely_ns, observed_ns; /* likely: estimated, beside what is proven; observed: of lost_ns */
	int64_t recoverable_ns;
	double ceiling;         /* as in recover.h */
	const char *next;
	int64_t next_ns;
	const char *why, *what; /* sentences, clean */
	struct figure figures[ADVICE_FIGURES]; size_t n_figures;
	const char *evidence[ADVICE_EVIDENCE]; size_t n_evidence; /* clean */
	uint64_t covers;        /* a bit for each loss that it is about */
};

struct advices {
	struct recovery *devices; size_t n_devices; /* like summary.devices */
	struct advice *at; size_t n, cap;           /* the highest ceiling first */
	enum framework framework;
	struct arena arenas[ADVICE_COUNT]; /* of what each row found; the last one of all else */
};

enum err_kind advices_build(struct advices *out, const struct summary *s, struct error *e);
void advices_free(struct advices *a);

const char *advice_name(const struct advice *a); /* "pinned-memory" */
