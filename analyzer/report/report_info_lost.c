/* SPDX-License-Identifier: BSD-2-Clause */
/* report_info_lost.c: what a file has not: when, how much and why. */
#include "report_words.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tools/text.h"

#define NAMED 10 /* unknown functions that are listed */

/* Records are given up for want of room alone; drop_errno may be about a moment without descriptors. */
static const char *why_full(char buf[128], const struct gst_counters *c)
{
	char bytes[TEXT_SHORT];

	if (c->drop_errno == ENOSPC)
		snprintf(buf, 128, "because the disk was full");
	else if (c->drop_errno == EDQUOT)
		snprintf(buf, 128, "because the disk quota was used up");
	else
		snprintf(buf, 128, "to stay within %s", text_bytes(bytes, c->limit_bytes));
	return buf;
}

static void recycled(struct words *w)
{
	const struct trace *t = w->t;
	const struct gst_counters *c = &t->counters;
	char gone[TEXT_SHORT], left[TEXT_SHORT], records[48], calls[48], why[128];

	if (!t->from_ns)
		return;
	if (t->recycled)
		words_say(w, INK_WARN,
			  "The first %s were given up %s: %s, %s among them. What remains, the last %s, is complete%s",
			  text_long(gone, t->from_ns - t->begin_ns), why_full(why, c),
			  words_number(records, c->records_recycled, "record", "records"),
			  words_number(calls, c->calls_recycled, "call", "calls"),
			  text_long(left, words_until_ns(t) > t->from_ns ? words_until_ns(t) - t->from_ns : 0),
			  c->records_dropped || t->damage.kind ? ", but for what follows." : ".");
	else
		words_say(w, INK_WARN,
			  "The first %s are left out: another process on the same device gave up its records of then.",
			  text_long(gone, t->from_ns - t->begin_ns));
	if (c->definitions_lost)
		words_say(
			w, INK_WARN,
			"%s went with them: kernels, streams or graphs that are used later have no name or no structure.",
			words_number(records, c->definitions_lost, "definition", "definitions"));
}

/* One reason of several. */
static void reason(char text[400], uint64_t n, const char *why)
{
	size_t used = strlen(text);
	char count[TEXT_SHORT];

	if (n && used < 400)
		snprintf(text + used, 400 - used, "%s%s %s", used ? ", " : ": ", text_count(count, n), why);
}

static void dropped(struct words *w)
{
	const struct trace *t = w->t;
	const struct gst_counters *c = &t->counters;
	char first[64], last[64], records[48], reasons[400] = "", disk[160], limit[96], bytes[TEXT_SHORT];

	if (!c->records_dropped)
		return;
	snprintf(disk, sizeof(disk), "as the file could not grow (%s)",
		 c->drop_errno && c->drop_errno < 4096 ? strerror((int)c->drop_errno) : "no reason is known");
	snprintf(limit, sizeof(limit), "as threads were using all that fits into the limit of %s",
		 text_bytes(bytes, c->limit_bytes));
	reason(reasons, c->dropped_disk, disk);
	reason(reasons, c->dropped_limit, limit);
	reason(reasons, c->dropped_busy, "where the recorder was interrupted or got in its own way");
	words_number(records, c->records_dropped, "record was", "records were");
	if (!t->drop_first_ns)
		words_say(w, INK_WARN, "%s dropped (disk full, or GPUSHIM_LIMIT): counts are too low%s.", records,
			  reasons);
	else if (t->drop_last_ns <= t->drop_first_ns)
		words_say(w, INK_WARN, "%s dropped at %s: counts are too low%s.", records,
			  words_moment(first, t, t->drop_first_ns), reasons);
	else
		words_say(w, INK_WARN, "%s dropped between %s and %s: counts are too low%s.", records,
			  words_moment(first, t, t->drop_first_ns), words_moment(last, t, t->drop_last_ns), reasons);
}

static void ended(struct words *w)
{
	const struct trace *t = w->t;
	char when[64];
	const char *who = words_calling_threads(t) == 1 ? "at most the call it was in is missing"
							: "at most the call that each thread was in is missing";

	words_moment(when, t, t->end_ns);
	if (t->life == LIFE_RUNNING)
		words_say(w, INK_PLAIN, "%s still running: this is how it stood when it was read.",
			  w->any ? "It is" : "Nothing, but it is");
	else if (t->life == LIFE_CUT)
		words_say(w, INK_PLAIN, "The end: no regular one (killed, or gone through _exit or exec) at %s: %s.",
			  when, who);
	else if (t->life == LIFE_UNKNOWN)
		words_say(
			w, INK_PLAIN,
			"The end, if it has ended: the last sign of life is of %s (killed, or still running elsewhere): %s.",
			when, who);
}

static void damaged(struct words *w)
{
	const struct trace *t = w->t;
	char when[64], place[64] = "";

	if (err_has_byte(&t->damage))
		snprintf(place, sizeof(place), " at byte %" PRIu64, t->damage.byte);
	if (t->damage.kind && t->cut_ns > t->end_ns)
		words_say(w, INK_WARN, "The file is damaged%s (%s); no call is lost with that.", place, t->damage.text);
	else if (t->damage.kind)
		words_say(w, INK_WARN, "All after %s: the file is damaged%s (%s); what precedes is %s.",
			  words_moment(when, t, t->cut_ns), place, t->damage.text,
			  t->imported ? "there as far as it was read" : "sound");
}

/* ": cuFoo, cuBar and 3 more", as many of n as have a name here and fit. */
static void unknown_names(char text[700], const struct trace *t, uint64_t n)
{
	size_t used = 0, listed = 0;

	text[0] = '\0';
	for (; listed < t->n_entries && listed < NAMED; listed++) {
		int length = (int)strcspn(t->entries[listed], " ");

		used += (size_t)snprintf(text + used, 700 - used, "%s%.*s", listed ? ", " : ": ",
					 length < 60 ? length : 60, t->entries[listed]);
	}
	if (listed && n > listed)
		snprintf(text + used, 700 - used, " and %" PRIu64 " more", n - listed);
}

/* What each counter above 0 means: "<before> 3 things <after>". */
static void not_seen(struct words *w)
{
	const struct trace *t = w->t;
	const struct gst_counters *c = &t->counters;
	char names[700], count[48];
	const struct {
		uint64_t n;
		enum ink ink;
		const char *before, *one, *many, *after;
	} rows[] = {
		{ c->streams_untracked, INK_WARN, "When ", "submission", "submissions",
		  " ran: there were more streams than the recorder's table holds." },
		{ c->graphs_untracked, INK_WARN, "What ", "executable graph", "executable graphs",
		  " hold: each launch counts as one operation." },
		{ c->names_untracked, INK_WARN, "", "record", "records",
		  " without a name: there were more kernels or files than the recorder's tables hold." },
		{ c->nccl_untracked, INK_WARN, "", "communicator", "communicators",
		  " or copies of libnccl beyond the recorder's table." },
		{ c->nvtx_untracked, INK_WARN, "", "NVTX range", "NVTX ranges",
		  " or their names: there were more than the recorder's tables hold." },
		{ c->edges_skipped, INK_PLAIN, "", "timing event", "timing events",
		  ": some gaps' ends are less exact." },
		{ c->activities_dropped, INK_WARN, "When ", "operation", "operations",
		  " ran: CUPTI, or the memory it was given, had no room. Their time is unresolved, none of it idle." },
		{ t->measured_bad, INK_WARN, "", "measured operation", "measured operations",
		  " with times that cannot be." },
		{ t->names_missing, INK_PLAIN, "The names of ", "call's kernel", "calls' kernels", "." },
		{ t->unknown_records, INK_PLAIN, "", "record", "records",
		  " of a later version of the recorder, skipped." },
	};

	if (c->entry_points_unknown) {
		unknown_names(names, t, c->entry_points_unknown);
		words_say(w, INK_WARN, "What the program did through %s unknown to this recorder%s.",
			  words_number(count, c->entry_points_unknown, "driver function", "driver functions"), names);
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].n)
			words_say(w, rows[i].ink, "%s%s%s", rows[i].before,
				  words_number(count, rows[i].n, rows[i].one, rows[i].many), rows[i].after);
}

/* What another tool says that it lost, and what of its trace could not be used. */
static void imported(struct words *w)
{
	const struct imported *m = w->t->imported;
	char count[48];

	if (!m)
		return;
	if (m->lost)
		words_say(w, INK_WARN, "%s, as the profiler itself says.",
			  words_number(count, m->lost, "record", "records"));
	if (m->left_out)
		words_say(
			w, INK_WARN,
			"%s left out: a begin or an end that is not there, an end before its begin, a number out of range.",
			words_number(count, m->left_out, "record", "records"));
	if (m->without_work)
		words_say(w, INK_WARN, "The device work of %s: captured, past the trace's end, or not recorded.",
			  words_number(count, m->without_work, "launch", "launches"));
	for (size_t i = 0; i < m->n_warnings; i++)
		words_say(w, INK_WARN, "The importer warns: %s.", m->warnings[i]);
}

void words_lost(struct words *w)
{
	w->label = "lost";
	w->any = false;
	recycled(w);
	dropped(w);
	damaged(w);
	not_seen(w);
	imported(w);
	ended(w);
	if (!w->any)
		words_say(
			w, INK_PLAIN, "%s",
			w->t->imported
				? "Nothing that the trace tells of."
				: "Nothing: no record was dropped, the file is whole, and the process ended regularly.");
}
