/* SPDX-License-Identifier: BSD-2-Clause */
/* import_kineto_meta.c: what processes and threads are called, and what is left out because nobody knows what it is. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "import_kineto_parts.h"
#include "tools/fnv.h"
#include "tools/spill.h"

static bool is(struct import_text text, const char *word)
{
	return text.bytes == strlen(word) && memcmp(text.at, word, text.bytes) == 0;
}

/* "thread 1262 (pt_autograd_0)" is pt_autograd_0. */
static struct import_text thread_name(struct import_text label)
{
	static const char numbered[] = "thread ";
	const char *open;

	if (label.bytes < sizeof(numbered) || memcmp(label.at, numbered, sizeof(numbered) - 1) != 0 ||
	    label.at[label.bytes - 1] != ')')
		return label;
	open = memchr(label.at, '(', label.bytes);
	if (!open)
		return label;
	return (struct import_text){ open + 1, (size_t)(label.at + label.bytes - 1 - (open + 1)) };
}

/* The file says it again and again. */
static bool thread(struct kineto *k, const struct kineto_event *e, uint32_t process)
{
	struct kineto_thread t = { process, kineto_tid(e), thread_name(e->label) };
	uint64_t hash = fnv1a(fnv1a(fnv1a(FNV_BEGIN, &t.process, sizeof(t.process)), &t.tid, sizeof(t.tid)), t.name.at,
			      t.name.bytes);
	uint32_t i;

	for (size_t at = 0; (i = hash_next(&k->thread_index, hash, &at)) != HASH_NONE;) {
		const struct kineto_thread *known = &k->threads[i];

		if (known->process == t.process && known->tid == t.tid && known->name.bytes == t.name.bytes &&
		    memcmp(known->name.at, t.name.at, t.name.bytes) == 0)
			return true;
	}
	if (!kineto_keep(k, &t.name, t.name) || !spill_room(k->threads, k->n_threads, k->threads_cap) ||
	    !hash_add(&k->thread_index, hash, (uint32_t)k->n_threads))
		return false;
	k->threads[k->n_threads++] = t;
	return true;
}

/* "GPU 3" is device 3. */
static void label(struct kineto_process *p, struct import_text text)
{
	uint32_t device = 0;
	size_t i = 4;

	if (text.bytes < 5 || memcmp(text.at, "GPU ", 4) != 0)
		return;
	for (; i < text.bytes && i < 12 && text.at[i] >= '0' && text.at[i] <= '9'; i++)
		device = 10 * device + (uint32_t)(text.at[i] - '0');
	if (i == text.bytes)
		p->device = device;
}

bool kineto_metadata(struct kineto *k, const struct kineto_event *e)
{
	bool name = is(e->name, "process_name"), labels = is(e->name, "process_labels");
	uint32_t process;

	if (!name && !labels && !is(e->name, "thread_name"))
		return true;
	process = kineto_process(k, e);
	if (process == KINETO_NO_PROCESS)
		return false;
	if (labels)
		label(&k->processes[process], e->label);
	else if (name && e->label.bytes && !k->processes[process].name.bytes)
		return kineto_keep(k, &k->processes[process].name, e->label);
	else if (!name && e->label.bytes)
		return thread(k, e, process);
	return true;
}

/* Is it about a device, of whatever category? */
static bool may_be_work(const struct kineto_event *e)
{
	return kineto_is_work(e->class) || (e->class == KINETO_UNKNOWN &&
					    e->said & (KINETO_SAID(DEVICE) | KINETO_SAID(STREAM) | KINETO_SAID(QUEUE)));
}

void kineto_lacks(struct kineto *k, const struct kineto_event *e)
{
	k->lacking++;
	k->work_lacking += may_be_work(e);
}

void kineto_other(struct kineto *k, const struct kineto_event *e)
{
	struct kineto_others *o = &k->others;
	bool work = may_be_work(e);
	char name[sizeof(o->at[0].name)];
	size_t i;

	snprintf(name, sizeof(name), "%.*s", (int)(e->category.bytes < sizeof(name) ? e->category.bytes : sizeof(name)),
		 e->category.bytes ? e->category.at : "");
	for (i = 0; i < o->n && strcmp(o->at[i].name, name) != 0; i++)
		;
	if (i == o->n && o->n < KINETO_OTHERS)
		memcpy(o->at[o->n++].name, name, sizeof(name));
	if (i < o->n)
		*(work ? &o->at[i].work : &o->at[i].other) += 1;
	else
		*(work ? &o->work : &o->other) += 1;
}

static void warn_of(struct kineto *k, const char *name, uint64_t work, uint64_t other)
{
	if (work)
		import_warn(
			k->b,
			work == 1
				? "%" PRIu64
				  " event that names a device or a stream is left out: its category, \"%s\", is not known"
				: "%" PRIu64
				  " events that name a device or a stream are left out: their category, \"%s\", is not known",
			work, name);
	if (other)
		import_warn(k->b,
			    other == 1 ? "%" PRIu64 " event is left out: its category, \"%s\", is not known"
				       : "%" PRIu64 " events are left out: their category, \"%s\", is not known",
			    other, name);
}

void kineto_others_end(struct kineto *k)
{
	struct kineto_others *o = &k->others;
	uint64_t work = o->work;

	for (size_t i = 0; i < o->n; i++) {
		warn_of(k, o->at[i].name, o->at[i].work, o->at[i].other);
		work += o->at[i].work;
	}
	warn_of(k, "…", o->work, o->other);
	if (k->lacking)
		import_warn(k->b,
			    k->lacking == 1 ? "%" PRIu64 " event lacks a beginning, an end, or what it is about"
					    : "%" PRIu64 " events lack a beginning, an end, or what they are about",
			    k->lacking);
	if (k->no_addresses)
		import_warn(k->b,
			    k->no_addresses == 1
				    ? "%" PRIu64 " record of the allocator is left out: it names no address"
				    : "%" PRIu64 " records of the allocator are left out: they name no address",
			    k->no_addresses);
	if (work + k->lacking)
		import_left_out(k->b, work + k->lacking, work + k->work_lacking);
}
