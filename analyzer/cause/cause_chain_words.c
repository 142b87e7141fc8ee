/* SPDX-License-Identifier: BSD-2-Clause */
#include "cause_chain_words.h"

#include <stdio.h>
#include <string.h>

#include "cause_chain_leaf.h"
#include "tools/text.h"

const char *task_words(char buf[TASK_WORDS], const struct host_task *task)
{
	char name[20];

	buf[0] = 0;
	if (task)
		snprintf(buf, TASK_WORDS, "%s[%u]", text_clean(name, sizeof(name), task->name, 16), host_own_tid(task));
	return buf;
}

const char *state_words(char buf[STATE_WORDS], const struct host_trace *h, const struct chain_step *s)
{
	char raw[STATE_WORDS];

	return text_clean(buf, STATE_WORDS, chain_state_words(raw, sizeof(raw), h, s), STATE_WORDS);
}

const char *call_words(char buf[STATE_WORDS], const struct host_trace *h, const struct chain_step *s)
{
	struct host_wait wait;
	struct host_stalls stalls;
	struct host_written written;
	struct chain_step bare = *s;

	if (s->wait) {
		wait = *s->wait;
		wait.what.file = NULL;
		bare.wait = &wait;
	} else if (s->stalls) {
		stalls = *s->stalls;
		stalls.what.file = NULL;
		bare.stalls = &stalls;
	} else if (s->written) {
		written = *s->written;
		written.what.file = NULL;
		bare.written = &written;
	}
	return state_words(buf, h, &bare);
}

/* Scripts compare these words. */
static const char *woken_words(char buf[TASK_WORDS], const struct host_trace *h, const struct chain_segment *way,
			       size_t i)
{
	const struct chain_step *step = &way->steps[i];

	buf[0] = 0;
	if (i + 1 < way->n_steps)
		task_words(buf, way->steps[i + 1].task);
	else if (step->by == GST_WOKEN_TASK && step->wait && step->wait->waker < h->n_tasks)
		task_words(buf, &h->tasks[step->wait->waker]); /* known, but not what it did */
	else if (step->by == GST_WOKEN_INTERRUPT)
		snprintf(buf, TASK_WORDS, "interrupt");
	else if (step->by == GST_WOKEN_TIMER)
		snprintf(buf, TASK_WORDS, "timer");
	return buf;
}

static bool same_step(const struct chain_step *a, const struct chain_step *b)
{
	const struct host_what *x = step_what(a), *y = step_what(b);

	if (a->task != b->task || a->state != b->state || a->by != b->by || !x != !y)
		return false;
	return !x || (x->syscall == y->syscall &&
		      (x->file == y->file || (x->file && y->file && strcmp(x->file, y->file) == 0)));
}

bool cause_is_elsewhere(const struct gap_cause *c)
{
	const struct chain_link *first = c->chain, *leaf;

	if (c->n_chain < 2)
		return false;
	leaf = c->chain + c->n_chain - 1;
	if (first->task && leaf->task)
		return !host_same_process(first->task, leaf->task);
	return leaf->pid != first->pid;
}

bool chain_same_way(const struct chain_segment *a, const struct chain_segment *b)
{
	if (a->n_steps != b->n_steps || a->inferred != b->inferred)
		return false;
	for (size_t i = 0; i < a->n_steps; i++)
		if (!same_step(&a->steps[i], &b->steps[i]))
			return false;
	return true;
}

/* The file, if it waited for one: not where it was runnable, though the record of that is the same. path NULL: none. */
static struct chain_file file_of(const struct chain_step *step)
{
	const struct host_what *w =
		step->state == CHAIN_QUEUED || step->state == CHAIN_THROTTLED ? NULL : step_what(step);
	struct chain_file file = { .offset = UINT64_MAX, .last_offset = UINT64_MAX };

	if (!w)
		return file;
	file.path = w->file && *w->file ? w->file : NULL;
	file.offset = w->offset;
	file.last_offset =
		step->stalls && step->stalls->last_offset != UINT64_MAX ? step->stalls->last_offset : w->offset;
	file.bytes = step_bytes_all(step);
	return file;
}

/* False: no memory. */
static bool keep_file(struct arena *arena, struct chain_link *link, const struct chain_step *step)
{
	struct chain_file file = file_of(step);

	link->file = NULL;
	if (!file.path)
		return true;
	link->file = arena_alloc(arena, sizeof(file));
	if (link->file)
		*link->file = file;
	return link->file != NULL;
}

/* There may be millions of links, and a path has 4 KiB: what does not fit loses the beginning of its path, which `file` has whole. */
static const char *link_words(char buf[LINK_WORDS], const struct host_trace *h, const struct chain_step *s)
{
	char raw[LINK_WORDS];

	return text_clean(buf, LINK_WORDS, chain_state_words(raw, sizeof(raw), h, s), LINK_WORDS);
}

static bool keep_link(struct arena *arena, struct chain_link *link, const struct chain_segment *way, size_t i,
		      const struct host_trace *h)
{
	const struct host_task *task = way->steps[i].task;
	char state[LINK_WORDS], woken[TASK_WORDS], name[20];

	link->task = task;
	link->pid = task ? host_own_pid(task) : 0;
	link->tid = task ? host_own_tid(task) : 0;
	link->name = arena_text_once(arena, task ? text_clean(name, sizeof(name), task->name, 16) : "");
	link->state = arena_text_once(arena, link_words(state, h, &way->steps[i]));
	link->woken_by = arena_text_once(arena, woken_words(woken, h, way, i));
	return link->name && link->state && link->woken_by && keep_file(arena, link, &way->steps[i]);
}

bool chain_keep_links(struct arena *arena, struct gap_cause *c, const struct finding *f, const struct host_trace *h)
{
	struct chain_link *links = arena_alloc(arena, f->way->n_steps * sizeof(*links));

	if (!links)
		return false;
	for (size_t i = 0; i < f->way->n_steps; i++) {
		if (!keep_link(arena, &links[i], f->way, i, h))
			return false;
		links[i].begin_ns = c->begin_ns; /* a link's time holds the leaf's, and that holds the cause's */
		links[i].end_ns = c->end_ns;
	}
	links[0].pid = f->pid;
	links[0].tid = f->tid;
	c->chain = links;
	c->n_chain = (uint32_t)f->way->n_steps;
	return true;
}

/* Two parts of one wait, or of one sum: what that asked for is said already. */
static bool same_record(const struct chain_step *a, const struct chain_step *b)
{
	if (a->written || b->written)
		return a->written == b->written;
	return a->wait || b->wait ? a->wait == b->wait : a->stalls && a->stalls == b->stalls;
}

static uint64_t bytes_together(uint64_t a, uint64_t b)
{
	return !a || !b ? 0 : a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void lengthen_file(struct chain_file *file, const struct chain_step *last, const struct chain_step *step)
{
	struct chain_file more = file_of(step);

	if (!same_record(last, step))
		file->bytes = bytes_together(file->bytes, more.bytes);
	if (more.offset == UINT64_MAX || file->offset == UINT64_MAX)
		return;
	file->offset = more.offset < file->offset ? more.offset : file->offset;
	file->last_offset = more.last_offset > file->last_offset ? more.last_offset : file->last_offset;
}

void chain_lengthen_links(struct gap_cause *c, const struct chain_segment *last, const struct chain_segment *way)
{
	struct chain_link *links = (struct chain_link *)c->chain;

	for (size_t i = 0; i < c->n_chain; i++) {
		links[i].end_ns = c->end_ns;
		if (way && links[i].file)
			lengthen_file(links[i].file, &last->steps[i], &way->steps[i]);
	}
}
