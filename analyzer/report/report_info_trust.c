/* SPDX-License-Identifier: BSD-2-Clause */
/* report_info_trust.c: what may be done with a file: the verdict. */
#include "report_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void add(char text[600], const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(char text[600], const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, 600 - used, format, args);
	va_end(args);
}

static void range(char text[600], const struct trace *t)
{
	bool dropped = t->counters.records_dropped && t->drop_first_ns;
	bool dropped_on = dropped && t->drop_last_ns >= t->end_ns - (t->end_ns - t->begin_ns) / 64;
	int64_t end_ns = t->cut_ns;
	char when[64], last[64];

	if (dropped_on && t->drop_first_ns < end_ns)
		end_ns = t->drop_first_ns;
	if (t->from_ns)
		add(text, " from %s on", words_moment(when, t, t->from_ns));
	if (end_ns <= t->end_ns)
		add(text, " up to %s", words_moment(when, t, end_ns));
	if (dropped && !dropped_on)
		add(text,
		    ", but not between %s and %s: calls are missing there, and what looks idle may have been busy",
		    words_moment(when, t, t->drop_first_ns), words_moment(last, t, t->drop_last_ns));
}

static void reservations(char text[600], const struct trace *t)
{
	const struct gst_counters *c = &t->counters;

	if (t->imported && t->imported->incomplete)
		add(text, " Work of the device is missing: what looks idle may have been busy.");
	if (t->imported)
		add(text, " What its profiler cost the program is in all times.");
	if (c->entry_points_unknown)
		add(text, " What went through unknown functions is not in it.");
	if (t->names_missing || c->definitions_lost || c->names_untracked)
		add(text, " Some names are lost.");
	if (c->graphs_untracked)
		add(text, " Operations in graphs are more than it counts.");
	if (t->life == LIFE_RUNNING)
		add(text, " It is as far as the program has come.");
	else if (t->life != LIFE_ENDED && !t->damage.kind)
		add(text, " Its last moments may be missing.");
}

void words_trust(struct words *w)
{
	const struct trace *t = w->t;
	const struct gst_counters *c = &t->counters;
	char text[600] = "";
	bool sound = !t->damage.kind && !(t->imported && t->imported->incomplete) && !c->records_dropped &&
		     !c->streams_untracked && !c->entry_points_unknown;

	if (words_until_ns(t) <= words_from_ns(t) && (t->damage.kind || t->from_ns))
		add(text, "There is nothing left to trust");
	else if (c->streams_untracked)
		add(text, "Do not trust device times; trust the calls and how long they took");
	else if (c->records_dropped && !t->drop_first_ns)
		add(text,
		    "Trust the durations, not the counts: calls are missing, and what looks idle may have been busy");
	else if (t->imported && t->imported->incomplete)
		add(text, "Trust when calls and work were, not that there was no more of it");
	else
		add(text, "Trust it");
	if (strcmp(text, "Trust it") == 0 || c->streams_untracked)
		range(text, t);
	add(text, ".");
	reservations(text, t);
	w->label = "trust";
	words_say(w, sound ? INK_PLAIN : INK_WARN, "%s", text);
}
