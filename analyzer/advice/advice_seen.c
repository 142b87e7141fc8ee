/* SPDX-License-Identifier: BSD-2-Clause */
/* advice_seen.c: what calls and gaps of the time that the advice is about have in common. */
#include "advice_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/text.h"
#include "trace/trace_rare.h"

#define KINDS 16 /* names of calls: those that come later are not told apart */
#define KINDS_SAID 3

int64_t seen_part(const struct advisor *a, int64_t begin_ns, int64_t end_ns)
{
	return recovery_part(a->recovery, begin_ns, end_ns);
}

/* ---- calls -------------------------------------------------------------------------------------------------------------- */

bool seen_call(const struct advisor *a, const struct trace *t, uint32_t ordinal, const struct call *c)
{
	const struct recovery *r = a->recovery;

	return c->begin_ns >= r->calls_from_ns && c->begin_ns < r->end_ns && recover_is_of(t, c, ordinal);
}

/* Bytes that the call moves, sets or takes. */
static uint64_t bytes_of(const struct call *c)
{
	switch (c->family) {
	case GST_FAMILY_COPY:
	case GST_FAMILY_MEMSET:
		return c->args[0];
	case GST_FAMILY_ALLOC:
		return c->args[1];
	default:
		return 0;
	}
}

/* The next call from i on: of the rare ones, or of all. */
static size_t next_call(const struct trace *t, size_t i, bool launches)
{
	return launches ? i : trace_rare(t, i);
}

static void add_use(const struct advisor *a, struct call_use *use, const struct call *c)
{
	use->n++;
	use->in_steps += recovery_is_in_step(a->recovery, c->begin_ns);
	use->ns = sum64(use->ns, c->end_ns - c->begin_ns);
	if (__builtin_add_overflow(use->bytes, bytes_of(c), &use->bytes))
		use->bytes = UINT64_MAX;
}

struct kind {
	const char *name;
	uint64_t n;
};

struct kinds {
	struct kind at[KINDS];
	size_t n;
};

static void add_kind(struct kinds *kinds, const char *name)
{
	size_t i = 0;

	while (i < kinds->n && kinds->at[i].name != name && strcmp(kinds->at[i].name, name) != 0)
		i++;
	if (i == kinds->n && i < KINDS)
		kinds->at[kinds->n++] = (struct kind){ .name = name };
	if (i < kinds->n)
		kinds->at[i].n++;
}

/* kinds: NULL where nobody asks. */
static struct call_use use_of(const struct advisor *a, call_wanted *wanted, bool launches, struct kinds *kinds)
{
	const struct run *run = a->summary->run;
	struct call_use use = { 0 };

	for (size_t i = 0; i < run->n_traces; i++) {
		const struct trace *t = run->traces[i];
		uint32_t ordinal = recover_ordinal(a->summary, a->device, t);
		size_t near = 0;

		for (size_t k = next_call(t, 0, launches); ordinal != GST_NONE && k < t->n_calls;
		     k = next_call(t, k + 1, launches)) {
			const struct call *c = &t->calls[k];

			for (uint32_t n = 0; wanted(t, c) && n < call_count(c); n++) {
				struct call one = call_count(c) > 1 ? launch_call(t, c, n, &near) : *c;

				if (!seen_call(a, t, ordinal, &one))
					continue;
				add_use(a, &use, &one);
				if (kinds)
					add_kind(kinds, t->hooks[c->hook] ? t->hooks[c->hook] : "unknown");
			}
		}
	}
	return use;
}

struct call_use seen_calls(const struct advisor *a, call_wanted *wanted)
{
	return use_of(a, wanted, false, NULL);
}

struct call_use seen_launches(const struct advisor *a, call_wanted *wanted)
{
	return use_of(a, wanted, true, NULL);
}

static int by_number(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;

	return x->n != y->n ? (x->n > y->n ? -1 : 1) : strcmp(x->name, y->name);
}

struct call_use seen_names(const struct advisor *a, call_wanted *wanted, char names[SEEN_NAMES])
{
	struct kinds kinds = { .n = 0 };
	struct call_use use = use_of(a, wanted, false, &kinds);
	size_t used = 0;
	char clean[64];

	names[0] = '\0';
	array_sort(kinds.at, kinds.n, sizeof(kinds.at[0]), by_number);
	for (size_t i = 0; i < kinds.n && i < KINDS_SAID && used < SEEN_NAMES; i++)
		used += (size_t)snprintf(names + used, SEEN_NAMES - used, "%s%s x %" PRIu64, i ? ", " : "",
					 text_clean(clean, sizeof(clean), kinds.at[i].name, 48), kinds.at[i].n);
	return use;
}

/* ---- gaps --------------------------------------------------------------------------------------------------------------- */

const struct gap_cause *seen_piece(const struct advisor *a, enum cause_id cause, size_t *gap, size_t *piece)
{
	const struct attribution *all = &a->device->attribution;

	for (; *gap < all->n_gaps; ++*gap, *piece = 0)
		while (*piece < all->gaps[*gap].n_causes) {
			const struct gap_cause *c = &all->gaps[*gap].causes[(*piece)++];

			if (c->cause == cause && seen_part(a, c->begin_ns, c->end_ns) > 0)
				return c;
		}
	return NULL;
}

void seen_site(struct advisor *a, struct advice *out, const char *words, bool before)
{
	char where[FRAME_WORDS + 8];

	if (!*words)
		return;
	snprintf(where, sizeof(where), "%s %s", before ? "before" : "at", words);
	figure_text(a, out, "site", words);
	figure_text(a, out, "where", where);
}

void seen_evidence(struct advisor *a, struct advice *out, const struct gap_cause *c, size_t gap)
{
	char line[EVIDENCE_BYTES * 2];

	if (!c->n_evidence)
		return;
	snprintf(line, sizeof(line), "%s in gap %zu: %s", confidence_name(c->confidence), a->device->first_gap + gap,
		 c->evidence[0]);
	advice_evidence_first(a, out, line);
}

void seen_cause(struct advisor *a, struct advice *out, enum cause_id cause)
{
	const struct gap_cause *c, *longest = NULL;
	size_t gap = 0, piece = 0, last = SIZE_MAX, of_longest = 0;
	uint64_t gaps = 0;

	while ((c = seen_piece(a, cause, &gap, &piece))) {
		gaps += gap != last;
		last = gap;
		if (!longest || c->end_ns - c->begin_ns > longest->end_ns - longest->begin_ns) {
			longest = c;
			of_longest = gap;
		}
	}
	if (longest) { /* else all of it is an estimate's */
		figure_count(out, "gaps", gaps);
		figure_ns(out, "longest_ns", longest->end_ns - longest->begin_ns);
	}
	if (!figure_get(out, "site"))
		seen_statement(a, out, cause);
	if (longest)
		seen_evidence(a, out, longest, of_longest);
}
