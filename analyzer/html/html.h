/* SPDX-License-Identifier: BSD-2-Clause */
/* html.h: the report as one page of HTML, a file of its own that needs nothing else (ARCHITECTURE.md, "The page").
 *
 *   html_assets    head.html and tail.html, made of analyzer/html/page/ by scripts/page.sh: what is shown, and how
 *   html           between them one JSON object, schema gpushim.page/1: what is to be shown; each part writes its keys
 *   html_pack      long columns of numbers, packed
 *   html_strings   names, each once
 * Whatever a name holds, it cannot end the script element that the JSON stands in: '<', '>' and '&' are written as \u003c and so on. */
#pragma once

#include "html_strings.h"
#include "summary/summary.h"
#include "tools/json.h"

enum html_class {
#define CLASS(name, id, title, kind, light, dark, pattern) HTML_##name,
#define CAUSE_CLASS(cause, light, dark, pattern)
#include "html_classes.def"
	HTML_CAUSES, /* the first of the causes', in their order */
	HTML_CLASSES = HTML_CAUSES + CAUSE_COUNT
};

static inline enum html_class html_cause(enum cause_id cause)
{
	return (enum html_class)(HTML_CAUSES + (int)cause);
}

struct html { /* being written */
	struct json json;
	const struct summary *s;
	struct html_strings strings;
	int64_t zero_ns;  /* the page's time 0, on the clock that all hosts are drawn on (ranks_drawn_ns) */
	uint64_t span_ns; /* all that is drawn lies within [0, span] */
	bool *told;       /* gaps whose whole story is in the page, by number; */
	size_t *stories; size_t n_stories; /* their numbers, the most important first */
	struct html_out { /* what stands behind json.file */
		FILE *out;
		uint64_t bytes; /* so far */
	} under;
};

/* Bytes of JSON so far: parts keep to budgets. */
uint64_t html_written(struct html *h);

/* ---- html_time.c: the page's time ---- */

void html_set_time(struct html *h);
/* Nanoseconds from zero, within the page. clock: index in ranks.clocks. */
uint64_t html_ns(const struct html *h, uint32_t clock, int64_t ns);
uint32_t html_clock_of_trace(const struct html *h, const struct trace *t);
uint32_t html_clock_of_device(const struct html *h, size_t device); /* index in summary.devices */

/* ---- the parts: each writes its keys into the object; what they name they add to strings ---- */

enum err_kind html_lanes(struct html *h, struct error *e);   /* lanes, lanes_left_out: the timeline */
#define LANES_PASS 3 /* how long each of the lanes' two passes takes, as a part takes 1 */
enum err_kind html_report(struct html *h, struct error *e);  /* report: the figures */
enum err_kind html_gaps(struct html *h, struct error *e);    /* gaps: stories, bounded */
enum err_kind html_steps(struct html *h, struct error *e);   /* steps */
enum err_kind html_ranks(struct html *h, struct error *e);   /* ranks: by step */
enum err_kind html_memory(struct html *h, struct error *e);  /* memory: of each device over time, and its map at the worst moment */
enum err_kind html_flame(struct html *h, struct error *e);   /* flame: idle time by stack */

/* ---- html_assets.c ---- */

struct html_asset {
	const char *bytes;
	size_t n;
};

struct html_asset html_head(void);
struct html_asset html_tail(void);
struct html_asset html_diff_head(void); /* diff_html.h */
