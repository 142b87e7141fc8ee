/* SPDX-License-Identifier: BSD-2-Clause */
#include "cause_chain_evidence.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cause_chain_file.h"
#include "cause_chain_leaf.h"
#include "cause_chain_pressure.h"
#include "cause_chain_requests.h"
#include "cause_chain_words.h"
#include "cause_evidence.h"
#include "tools/alloc.h"
#include "tools/text.h"

#define LINE_BYTES (2 * STATE_WORDS) /* a path may be told twice */

struct line {
	char text[LINE_BYTES];
	size_t used;
};

static void say(struct line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct line *l, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(l->text + l->used, sizeof(l->text) - l->used, format, args);
	va_end(args);
	if (n > 0)
		l->used = l->used + (size_t)n < sizeof(l->text) ? l->used + (size_t)n : sizeof(l->text) - 1;
}

/* When the leaf's own wait was: whole, where the cause has but a part of it. */
static void leaf_time(const struct chain_segment *s, int64_t *begin_ns, int64_t *end_ns)
{
	const struct chain_step *leaf = chain_leaf(s);

	*begin_ns = leaf->wait ? leaf->wait->out_ns : leaf->stalls ? leaf->stalls->begin_ns : s->begin_ns;
	*end_ns = leaf->wait ? leaf->wait->wake_ns : leaf->stalls ? leaf->stalls->end_ns : s->end_ns;
}

/* "(train.host.gst byte 4176)": where that stands. */
static void say_place(struct line *l, const struct host_trace *h, const struct chain_step *leaf)
{
	char file[96];
	uint64_t byte = leaf->wait      ? leaf->wait->byte
			: leaf->stalls  ? leaf->stalls->byte
			: leaf->written ? leaf->written->byte
					: 0;

	if (byte)
		say(l, " (%s byte %" PRIu64 ")",
		    text_clean(file, sizeof(file), text_base(h->path ? h->path : "host probes"), 64), byte);
}

static void say_long(struct line *l, const struct chain_segment *s)
{
	const struct chain_step *leaf = chain_leaf(s);
	char length[TEXT_SHORT];
	int64_t begin, end;

	leaf_time(s, &begin, &end);
	if (leaf->stalls)
		say(l, "%u short waits, %s together", leaf->stalls->count,
		    text_duration(length, leaf->stalls->blocked_ns));
	else
		say(l, "%s", text_duration(length, end - begin));
}

static bool is_file(enum chain_state state)
{
	return state == CHAIN_FILE_READ || state == CHAIN_FILE_WRITE || state == CHAIN_FLUSH || state == CHAIN_FAULT;
}

/* path=… offset=… bytes=… */
static void say_file(struct line *l, const struct chain_step *leaf)
{
	const struct host_what *w = step_what(leaf);
	uint64_t bytes = step_bytes_all(leaf);
	char path[PATH_WORDS];

	if (w->file && *w->file)
		say(l, "path=%s", text_clean(path, sizeof(path), w->file, sizeof(path)));
	else if (w->inode)
		say(l, "path=? inode=%" PRIu64 " on %u:%u", w->inode, w->dev >> 20, w->dev & 0xfffff);
	else
		say(l, "path=?");
	if (w->offset != UINT64_MAX)
		say(l, " offset=%" PRIu64, w->offset);
	if (bytes)
		say(l, " bytes=%" PRIu64, bytes);
	say(l, ": ");
}

/* Block requests of this machine can tell of it. */
static bool is_on_disk(const struct chain_step *leaf)
{
	const struct host_what *w = step_what(leaf);
	enum file_use use = w ? file_use(w) : FILE_DATA;

	return is_file(leaf->state) && !(w && w->flags & GST_WAIT_ANONYMOUS) && (use == FILE_DATA || use == FILE_CODE);
}

static bool sampled_before(const void *element, const void *key)
{
	return ((const struct host_on_cpu *)element)->at_ns < *(const int64_t *)key;
}

static void say_on_cpu(struct line *l, const struct finding *f, const char *who)
{
	const struct host_task *task = chain_leaf(f->way)->task;
	enum cause_id cause = f->cause;
	char length[TEXT_SHORT];
	size_t samples = 0;

	say(l, cause == CAUSE_host_lock ? "held by %s, which was on a CPU for %s" : "%s was on a CPU for %s", who,
	    text_duration(length, f->end_ns - f->begin_ns));
	if (cause == CAUSE_memory_stall)
		say(l, ", between two waits for memory");
	else if (cause == CAUSE_checkpoint)
		say(l, ", between two waits for what it saved");
	for (size_t i = task ? array_first(task->on_cpu, task->n_on_cpu, sizeof(*task->on_cpu), sampled_before,
					   &f->begin_ns)
			     : 0;
	     task && i < task->n_on_cpu && task->on_cpu[i].at_ns < f->end_ns; i++)
		samples++;
	if (samples)
		say(l, ", and %zu sample%s found it there", samples, samples == 1 ? "" : "s");
}

/* What the leaf did. A wait is told whole; what is no wait, as far as it is proposed: a segment may have been cut. */
static void say_leaf(struct line *l, const struct host_trace *h, const struct finding *f)
{
	const struct chain_segment *s = f->way;
	const struct chain_step *leaf = chain_leaf(s);
	char who[TASK_WORDS], what[STATE_WORDS], length[TEXT_SHORT];

	task_words(who, leaf->task);
	state_words(what, h, leaf);
	text_duration(length, f->end_ns - f->begin_ns);
	switch (leaf->state) {
	case CHAIN_ON_CPU:
		say_on_cpu(l, f, who);
		return;
	case CHAIN_QUEUED:
		say(l, "%s was runnable for %s without a CPU", who, length);
		break;
	case CHAIN_THROTTLED:
		say(l, "%s was runnable for %s, its control group's CPU quota used up", who, length);
		break;
	case CHAIN_UNKNOWN:
		say(l, "%s waited for %s, and what that did is not on record",
		    s->n_steps > 1 ? task_words(who, leaf[-1].task) : who,
		    s->n_steps > 1 ? state_words(what, h, &leaf[-1]) : "something");
		return;
	default:
		if (is_file(leaf->state) && step_what(leaf)) {
			say_file(l, leaf);
			call_words(what, h, leaf);
		}
		say(l, "%s in %s, %s", who, what, leaf->written ? "on a CPU for " : "");
		say_long(l, s);
		/* cause_chain_leaf.c, is_recording: there is no other such file that is no cause */
		if (f->cause == CAUSE_unexplained && is_on_disk(leaf) && step_what(leaf) && step_what(leaf)->file)
			say(l, ", in the recorder's own file");
		break;
	}
	say_place(l, h, leaf);
}

static enum pressure pressure_of(enum chain_state state)
{
	return state == CHAIN_QUEUED      ? PRESSURE_CPU
	       : state == CHAIN_THROTTLED ? PRESSURE_QUOTA
	       : is_file(state)           ? PRESSURE_IO
					  : PRESSURE_MEMORY;
}

static bool has_pressure(enum chain_state state)
{
	return is_file(state) || state == CHAIN_QUEUED || state == CHAIN_THROTTLED || state == CHAIN_SWAP ||
	       state == CHAIN_RECLAIM;
}

/* A task's own reclaiming within the time: how much, and for whose limit. */
static void reclaim_words(char *buf, size_t size, const struct host_task *task, int64_t begin_ns, int64_t end_ns)
{
	uint64_t pages = 0;
	bool group = false;
	size_t n = 0;
	char bytes[TEXT_SHORT];

	*buf = 0;
	for (size_t i = task ? host_reclaim_after(task, begin_ns) : 0;
	     task && i < task->n_reclaims && task->reclaims[i].begin_ns < end_ns; i++) {
		n++;
		pages += task->reclaims[i].pages;
		group |= task->reclaims[i].group;
	}
	if (n)
		snprintf(buf, size, "it reclaimed %s itself, %s", text_bytes(bytes, pages * PAGE_BYTES),
			 group ? "at its control group's memory limit" : "as the machine's memory was full");
}

bool chain_keep_evidence(struct arena *arena, struct gap_cause *c, const struct finding *f, const struct host_trace *h)
{
	const struct chain_segment *s = f->way;
	const struct chain_step *leaf = chain_leaf(s);
	struct line line = { .text = "" };
	char more[EVIDENCE_BYTES];
	int64_t begin, end;

	say_leaf(&line, h, f);
	if (!cause_keep_text(arena, c, line.text))
		return false;
	if (leaf->written) /* its disk is asked later */
		return true;
	leaf_time(s, &begin, &end);
	if (is_on_disk(leaf)) {
		requests_words(more, sizeof(more), h, leaf, begin, end);
		if (!cause_keep_text(arena, c, more))
			return false;
	}
	if (leaf->state == CHAIN_SWAP || leaf->state == CHAIN_RECLAIM || leaf->state == CHAIN_FAULT) {
		reclaim_words(more, sizeof(more), leaf->task, begin, end);
		if (!cause_keep_text(arena, c, more))
			return false;
	}
	if (!has_pressure(leaf->state))
		return true;
	pressure_words(more, sizeof(more), h, pressure_of(leaf->state), begin, end);
	return cause_keep_text(arena, c, more);
}
