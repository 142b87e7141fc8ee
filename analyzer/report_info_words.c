/* SPDX-License-Identifier: BSD-2-Clause */
/* report_info_words.c: a file in sentences. Each loss says when, how much and why; the verdict says what may be done with the rest. */
#include "report_info.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define LABEL 13
#define NAMED 10 /* unknown functions that are listed */

struct words {
	const struct page *page;
	const struct trace *t;
	const char *label; /* of the next sentence; "" once one has it */
	bool any;
};

static void say(struct words *w, enum ink ink, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void say(struct words *w, enum ink ink, const char *format, ...)
{
	char text[1024], clean[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(w->page->out, "  %-*s", LABEL, w->label);
	page_wrap(w->page, ink, LABEL + 2, LABEL + 2, text_clean(clean, sizeof(clean), text, sizeof(clean)));
	w->label = "";
	w->any = true;
}

/* ---- when -------------------------------------------------------------------------------------------- */

static int64_t from_ns(const struct trace *t)
{
	return t->from_ns > t->begin_ns ? t->from_ns : t->begin_ns;
}

static int64_t until_ns(const struct trace *t)
{
	return t->end_ns < t->cut_ns ? t->end_ns : t->cut_ns;
}

/* Time of day; without the day where that is `day`'s. */
static char *at(char buf[64], const struct trace *t, int64_t ns, const char *day)
{
	int64_t since = ns - (int64_t)t->header.start_mono_ns;

	report_time_of_day(buf, t->header.start_real_ns + (uint64_t)since);
	if (day && strlen(buf) > 11 && strncmp(buf, day, 11) == 0)
		memmove(buf, buf + 11, strlen(buf + 11) + 1);
	return buf;
}

/* The head says which zone it is. */
static void without_zone(char *text)
{
	size_t n = strlen(text);

	if (n > 4 && strcmp(text + n - 4, " UTC") == 0)
		text[n - 4] = '\0';
}

/* Within one second the time of day says nothing: from the begin then. */
static const char *moment(char buf[64], const struct trace *t, int64_t ns)
{
	char day[64], length[TEXT_SHORT];

	if (until_ns(t) - t->begin_ns < 2000000000)
		snprintf(buf, 64, "%s after its begin", text_duration(length, ns - t->begin_ns));
	else
		without_zone(at(buf, t, ns, at(day, t, t->begin_ns, NULL)));
	return buf;
}

/* ---- how many ---------------------------------------------------------------------------------------- */

static const char *number(char buf[48], uint64_t n, const char *one, const char *many)
{
	char count[TEXT_SHORT];

	snprintf(buf, 48, "%s %s", text_count(count, n), n == 1 ? one : many);
	return buf;
}

static int by_tid(const void *key, const void *thread)
{
	uint32_t tid = *(const uint32_t *)key, other = ((const struct thread *)thread)->tid;

	return (tid > other) - (tid < other);
}

/* The program's: the recorder's own make no calls. */
static uint64_t calling_threads(const struct trace *t)
{
	bool *calls = calloc(t->n_threads + 1, sizeof(*calls));
	uint64_t n = 0;

	for (size_t i = 0; calls && i < t->n_calls; i++) {
		const struct thread *at =
			bsearch(&t->calls[i].tid, t->threads, t->n_threads, sizeof(*t->threads), by_tid);

		n += at && !calls[at - t->threads];
		if (at)
			calls[at - t->threads] = true;
	}
	for (size_t i = 0; calls && i < t->n_nccl; i++) {
		const struct thread *at =
			bsearch(&t->nccl[i].tid, t->threads, t->n_threads, sizeof(*t->threads), by_tid);

		if (at && !(t->nccl[i].flags & GST_NCCL_OURS) && !calls[at - t->threads]) {
			calls[at - t->threads] = true;
			n++;
		}
	}
	free(calls);
	return n;
}

/* " and 3 NCCL calls", "" where there are none. */
static const char *nccl_calls(char text[64], const struct trace *t)
{
	uint64_t n = 0;
	char count[48];

	for (size_t i = 0; i < t->n_nccl; i++)
		n += t->nccl[i].flags & GST_NCCL_OURS ? 0 : nccl_calls_of(&t->nccl[i]);
	text[0] = '\0';
	if (n)
		snprintf(text, 64, " and %s", number(count, n, "NCCL call", "NCCL calls"));
	return text;
}

/* "from 2026-11-21 10:12:01 to 10:53:04 UTC"; within one second, "begun 2026-11-21 10:12:01 UTC" */
static void when_recorded(char text[160], const struct trace *t)
{
	char begin[64], end[64];

	at(begin, t, from_ns(t), NULL);
	at(end, t, until_ns(t), begin);
	if (t->life == LIFE_RUNNING)
		snprintf(text, 160, "from %s until now: it is still running", begin);
	else if (until_ns(t) - from_ns(t) < 2000000000)
		snprintf(text, 160, "begun %s", begin);
	else
		snprintf(text, 160, "from %.*s to %s", (int)(strlen(begin) > 4 ? strlen(begin) - 4 : 0), begin, end);
}

static void recorded(struct words *w)
{
	const struct trace *t = w->t;
	const struct gst_file_header *h = &t->header;
	char calls[48], threads[48], streams[48], devices[48], when[160], length[TEXT_SHORT], command[200], nccl[64];
	const char *base = text_base(h->exe);

	text_clean(command, sizeof(command), h->cmdline[0] ? h->cmdline : *base ? base : "a program", 60);
	when_recorded(when, t);
	w->label = "recorded";
	say(w, INK_PLAIN, "%s, process %u on %s: %s%s of %s to %s of %s, in %s, %s.", command, h->pid,
	    h->host[0] ? h->host : "an unnamed host", number(calls, t->n_calls, "driver call", "driver calls"),
	    nccl_calls(nccl, t), number(threads, calling_threads(t), "thread", "threads"),
	    number(streams, t->n_streams, "stream", "streams"), number(devices, t->n_devices, "device", "devices"),
	    text_long(length, until_ns(t) - from_ns(t)), when);
}

/* ---- what was lost ------------------------------------------------------------------------------------ */

/* Why the file could not grow. */
static const char *why_full(char buf[128], const struct gst_counters *c)
{
	char bytes[TEXT_SHORT];

	if (c->drop_errno == ENOSPC)
		snprintf(buf, 128, "because the disk was full");
	else if (c->drop_errno == EDQUOT)
		snprintf(buf, 128, "because the disk quota was used up");
	else if (c->drop_errno && c->drop_errno != EFBIG && c->drop_errno < 4096)
		snprintf(buf, 128, "because the file could not grow (%s)", strerror((int)c->drop_errno));
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
		say(w, INK_WARN,
		    "The first %s were given up %s: %s, %s among them. What remains, the last %s, is complete%s",
		    text_long(gone, t->from_ns - t->begin_ns), why_full(why, c),
		    number(records, c->records_recycled, "record", "records"),
		    number(calls, c->calls_recycled, "call", "calls"),
		    text_long(left, until_ns(t) > t->from_ns ? until_ns(t) - t->from_ns : 0),
		    c->records_dropped || t->damage.kind ? ", but for what follows." : ".");
	else
		say(w, INK_WARN,
		    "The first %s are left out: another process on the same device gave up its records of then.",
		    text_long(gone, t->from_ns - t->begin_ns));
	if (c->definitions_lost)
		say(w, INK_WARN,
		    "%s went with them: kernels, streams or graphs that are used later have no name or no structure.",
		    number(records, c->definitions_lost, "definition", "definitions"));
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
	number(records, c->records_dropped, "record was", "records were");
	if (!t->drop_first_ns)
		say(w, INK_WARN, "%s dropped (disk full, or GPUSHIM_LIMIT): counts are too low%s.", records, reasons);
	else if (t->drop_last_ns <= t->drop_first_ns)
		say(w, INK_WARN, "%s dropped at %s: counts are too low%s.", records, moment(first, t, t->drop_first_ns),
		    reasons);
	else
		say(w, INK_WARN, "%s dropped between %s and %s: counts are too low%s.", records,
		    moment(first, t, t->drop_first_ns), moment(last, t, t->drop_last_ns), reasons);
}

static void ended(struct words *w)
{
	const struct trace *t = w->t;
	char when[64];
	const char *who = calling_threads(t) == 1 ? "at most the call it was in is missing"
						  : "at most the call that each thread was in is missing";

	moment(when, t, t->end_ns);
	if (t->life == LIFE_RUNNING)
		say(w, INK_PLAIN, "Nothing, but it is still running: this is how it stood when it was read.");
	else if (t->life == LIFE_CUT)
		say(w, INK_PLAIN, "The end: no regular one (killed, or gone through _exit or exec) at %s: %s.", when,
		    who);
	else if (t->life == LIFE_UNKNOWN)
		say(w, INK_PLAIN,
		    "The end, if it has ended: the last sign of life is of %s (killed, or still running elsewhere): %s.",
		    when, who);
}

static void damaged(struct words *w)
{
	const struct trace *t = w->t;
	char when[64];

	if (t->damage.kind && t->cut_ns > t->end_ns)
		say(w, INK_WARN, "The file is damaged at byte %" PRIu64 " (%s); no call is lost with that.",
		    t->damage.byte, t->damage.text);
	else if (t->damage.kind)
		say(w, INK_WARN, "All after %s: the file is damaged at byte %" PRIu64 " (%s); what precedes is sound.",
		    moment(when, t, t->cut_ns), t->damage.byte, t->damage.text);
}

/* "cuFoo, cuBar and 3 more" */
static void unknown_names(char text[700], const struct trace *t)
{
	uint64_t n = t->counters.entry_points_unknown;
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < t->n_entries && i < NAMED && used < 600; i++) {
		int length = (int)strcspn(t->entries[i], " ");

		used += (size_t)snprintf(text + used, 700 - used, "%s%.*s", i ? ", " : ": ", length < 60 ? length : 60,
					 t->entries[i]);
	}
	if (used && n > NAMED)
		snprintf(text + used, 700 - used, " and %" PRIu64 " more", n - NAMED);
}

static void not_seen(struct words *w)
{
	const struct trace *t = w->t;
	const struct gst_counters *c = &t->counters;
	char names[700], count[48];

	if (c->entry_points_unknown) {
		unknown_names(names, t);
		say(w, INK_WARN, "What the program did through %s unknown to this recorder%s.",
		    number(count, c->entry_points_unknown, "driver function", "driver functions"), names);
	}
	if (c->streams_untracked)
		say(w, INK_WARN, "When %s ran: there were more streams than the recorder's table holds.",
		    number(count, c->streams_untracked, "submission", "submissions"));
	if (c->graphs_untracked)
		say(w, INK_WARN, "What %s hold: each launch counts as one operation.",
		    number(count, c->graphs_untracked, "executable graph", "executable graphs"));
	if (c->names_untracked)
		say(w, INK_WARN, "%s without a name: there were more kernels or files than the recorder's tables hold.",
		    number(count, c->names_untracked, "record", "records"));
	if (c->nccl_untracked)
		say(w, INK_WARN, "%s or copies of libnccl beyond the recorder's table.",
		    number(count, c->nccl_untracked, "communicator", "communicators"));
	if (c->edges_skipped)
		say(w, INK_PLAIN, "%s: some gaps' ends are less exact.",
		    number(count, c->edges_skipped, "timing event", "timing events"));
	if (t->names_missing)
		say(w, INK_PLAIN, "The names of %s.",
		    number(count, t->names_missing, "call's kernel", "calls' kernels"));
	if (t->unknown_records)
		say(w, INK_PLAIN, "%s of a later version of the recorder, skipped.",
		    number(count, t->unknown_records, "record", "records"));
}

static void lost(struct words *w)
{
	w->label = "lost";
	w->any = false;
	recycled(w);
	dropped(w);
	damaged(w);
	not_seen(w);
	ended(w);
	if (!w->any)
		say(w, INK_PLAIN,
		    "Nothing: no record was dropped, the file is whole, and the process ended regularly.");
}

/* ---- whether to trust it ------------------------------------------------------------------------------ */

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
		add(text, " from %s on", moment(when, t, t->from_ns));
	if (end_ns <= t->end_ns)
		add(text, " up to %s", moment(when, t, end_ns));
	if (dropped && !dropped_on)
		add(text,
		    ", but not between %s and %s: calls are missing there, and what looks idle may have been busy",
		    moment(when, t, t->drop_first_ns), moment(last, t, t->drop_last_ns));
}

static void reservations(char text[600], const struct trace *t)
{
	const struct gst_counters *c = &t->counters;

	bool going = t->life == LIFE_RUNNING;

	if (c->entry_points_unknown)
		add(text, " What went through unknown functions is not in it.");
	if (t->names_missing || c->definitions_lost || c->names_untracked)
		add(text, " Some names are lost.");
	if (c->graphs_untracked)
		add(text, " Operations in graphs are more than it counts.");
	if (going)
		add(text, " It is as far as the program has come.");
	else if (t->life != LIFE_ENDED && !t->damage.kind)
		add(text, " Its last moments may be missing.");
}

static void verdict(struct words *w)
{
	const struct trace *t = w->t;
	const struct gst_counters *c = &t->counters;
	char text[600] = "";
	bool sound = !t->damage.kind && !c->records_dropped && !c->streams_untracked && !c->entry_points_unknown;

	if (until_ns(t) <= from_ns(t) && (t->damage.kind || t->from_ns))
		add(text, "There is nothing left to trust");
	else if (c->streams_untracked)
		add(text, "Do not trust device times; trust the calls and how long they took");
	else if (c->records_dropped && !t->drop_first_ns)
		add(text,
		    "Trust the durations, not the counts: calls are missing, and what looks idle may have been busy");
	else
		add(text, "Trust it");
	if (strcmp(text, "Trust it") == 0 || c->streams_untracked)
		range(text, t);
	add(text, ".");
	reservations(text, t);
	w->label = "trust";
	say(w, sound ? INK_PLAIN : INK_WARN, "%s", text);
}

void report_info_words(const struct page *p, const struct trace *t)
{
	struct words w = { .page = p, .t = t };

	recorded(&w);
	lost(&w);
	verdict(&w);
}
