/* SPDX-License-Identifier: BSD-2-Clause */
/* advice_parts.h: what the rows of advice.def see, and what they say it with. */
#pragma once

#include "advice.h"

struct advisor { /* of one device */
	const struct summary *summary;
	const struct summary_device *device;
	size_t index; /* the device's */
	const struct recovery *recovery;
	enum framework framework;
	struct arena *arena;
	bool failed; /* no memory */
};

/* A row's: fills in figures and evidence. False: it has nothing to say, or no memory (failed). lost_ns and so on are of the row's loss and may
 * be changed. */
typedef bool advice_find(struct advisor *a, struct advice *out);

#define ADVICE(name, id, about, find, why) advice_find find;
#define DO(name, framework, what)
#include "advice.def"
#undef ADVICE
#undef DO

/* Is what can be won back of it a hundredth of the time? Rows ask before they look at all calls. */
bool advice_matters(const struct advisor *a, const struct advice *out);

/* ---- figures; a name that is there already is left as it is ---- */

void figure_count(struct advice *out, const char *name, uint64_t n);
void figure_ns(struct advice *out, const char *name, int64_t ns);
void figure_bytes(struct advice *out, const char *name, uint64_t bytes);
void figure_rate(struct advice *out, const char *name, uint64_t bytes, int64_t ns); /* none where there was no time */
void figure_real(struct advice *out, const char *name, double real);
void figure_share(struct advice *out, const char *name, double share);
void figure_text(struct advisor *a, struct advice *out, const char *name, const char *text);
const struct figure *figure_get(const struct advice *out, const char *name); /* NULL none */
void advice_evidence(struct advisor *a, struct advice *out, const char *text); /* what finds no place is left out */
void advice_evidence_first(struct advisor *a, struct advice *out, const char *text);

/* n, of steps alone, for each of them; none without steps. */
void figure_per_step(struct advisor *a, struct advice *out, const char *name, uint64_t n);

/* ---- words (advice_words.c) ---- */

/* A sentence with its figures: {name} is one of them, {name|one|many} a count with its noun, [ … ] is left out where a figure in it is missing.
 * Into the arena; NULL: no memory. */
const char *advice_say(struct advisor *a, const struct advice *out, const char *sentence);

/* ---- what was seen (advice_seen.c) ---- */

struct call_use {
	uint64_t n, in_steps;
	int64_t ns;
	uint64_t bytes;
};

typedef bool call_wanted(const struct trace *t, const struct call *c);

bool seen_call(const struct advisor *a, const struct trace *t, uint32_t ordinal, const struct call *c); /* of the device, then */
/* The device's calls of that kind that began in the time that the recovery is about: a kind that no plain launch (trace_rare.h) is of, or
 * any. */
struct call_use seen_calls(const struct advisor *a, call_wanted *wanted);
struct call_use seen_launches(const struct advisor *a, call_wanted *wanted);
/* seen_calls, and the most frequent by name: "cuMemcpyDtoHAsync_v2 x 40, cuStreamSynchronize x 2"; clean, "" none. */
#define SEEN_NAMES 256
struct call_use seen_names(const struct advisor *a, call_wanted *wanted, char names[SEEN_NAMES]);
/* Where they were made, as far as stacks say (advice_sites.c): figures site, sites, calls_with_stacks; evidence where there are several. */
void seen_sites(struct advisor *a, struct advice *out, call_wanted *wanted);

/* Figures site and where ("at site", or "before site"). */
void seen_site(struct advisor *a, struct advice *out, const char *words, bool before);

/* … of the statement at which most of the cause's time was spent (advice_sites.c), and site_ns; none where that is hardly any of it. */
void seen_statement(struct advisor *a, struct advice *out, enum cause_id cause);

/* What proves that piece of a gap; of the device's, by number. */
void seen_evidence(struct advisor *a, struct advice *out, const struct gap_cause *c, size_t gap);

/* Of a cause: figures gaps, longest_ns, and, if there is no site yet, site, where and site_ns where stacks say which statement of the program it
 * was at; the evidence of its longest piece. Of what is but estimated neither gaps nor longest_ns. */
void seen_cause(struct advisor *a, struct advice *out, enum cause_id cause);
/* The pieces of a gap that own time there: the next one behind *gap, *piece; NULL at the end. Begin with zeros. */
const struct gap_cause *seen_piece(const struct advisor *a, enum cause_id cause, size_t *gap, size_t *piece);
int64_t seen_part(const struct advisor *a, int64_t begin_ns, int64_t end_ns); /* within what the recovery is about */

/* ---- files (advice_files.c) ---- */

struct read_use {
	uint64_t n, bytes; /* reads that waited, and what they asked for */
	int64_t ns;        /* how long, all readers together */
	uint64_t readers;  /* tasks */
};

/* Reads of data files by the tasks that work for the device, as host probes saw them wait: those that it waited for, and the processes that submit to it
 * with all that descends from them, but for those of other devices. */
void seen_reads(struct advisor *a, struct read_use *out);
/* The file that most of the cause's time went to: figures path, files, more_files. */
void seen_file(struct advisor *a, struct advice *out, enum cause_id cause);

/* ---- loader workers (advice_workers.c) ---- */

struct workers {
	size_t n;        /* processes */
	int64_t work_ns;   /* theirs, together: on a CPU, or asleep; not waiting for the program */
	int64_t on_cpu_ns; /* of it */
	int64_t read_ns;   /* beside it: waiting for files and networks */
};

/* Is it time that a worker's batch was late, if the chain ends in one? (advice_input.c) */
bool advise_is_input(const struct gap_cause *c);
/* Those that the device waited for, and their siblings; how long they worked in that part of the time. n is 0 where no host probes watched. False: no
 * memory. */
bool workers_find(const struct advisor *a, struct workers *out, recovery_time *part);
