/* SPDX-License-Identifier: BSD-2-Clause */
/* advice_files.c: files that were read or written. */
#include "advice_tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cause/cause_chain_file.h"
#include "chain/chain_parts.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/text.h"

/* ---- by cause ----------------------------------------------------------------------------------------------------------- */

struct file_part {
	const char *file; /* n bytes of it */
	size_t n;
	int64_t ns;
};

static int by_file(const void *a, const void *b)
{
	const struct file_part *x = a, *y = b;
	int c = memcmp(x->file, y->file, x->n < y->n ? x->n : y->n);

	return c ? c : (x->n > y->n) - (x->n < y->n);
}

/* What the chain's end waited for; where there is no chain, what the evidence says. False: no file. */
static bool file_of(struct file_part *out, const struct gap_cause *c)
{
	const struct chain_link *leaf = c->n_chain ? &c->chain[c->n_chain - 1] : NULL;
	const char *said = c->n_evidence ? strstr(c->evidence[0], "path=") : NULL;

	out->file = leaf && leaf->file ? leaf->file->path : said ? said + strlen("path=") : "";
	out->n = leaf && leaf->file ? strlen(out->file) : strcspn(out->file, " :");
	return out->n > 0;
}

static struct file_part *files_of(const struct advisor *a, enum cause_id cause, size_t *n)
{
	size_t gap = 0, piece = 0, cap = 0;
	struct file_part *list = array_grow(NULL, &cap, sizeof(*list)), part;
	const struct gap_cause *c;

	*n = 0;
	if (!list)
		return NULL;
	while ((c = seen_piece(a, cause, &gap, &piece))) {
		if (!file_of(&part, c))
			continue;
		if (!array_room(list, *n, cap)) {
			free(list);
			return NULL;
		}
		part.ns = seen_part(a, c->begin_ns, c->end_ns);
		list[(*n)++] = part;
	}
	return list;
}

void seen_file(struct advisor *a, struct advice *out, enum cause_id cause)
{
	size_t n, files = 0, best = 0;
	struct file_part *list = files_of(a, cause, &n);
	int64_t most = -1;
	char path[512], clean[512];

	a->failed |= !list;
	if (list)
		array_sort(list, n, sizeof(*list), by_file);
	for (size_t i = 0, k; list && i < n; i = k) {
		int64_t ns = 0;

		for (k = i; k < n && !by_file(&list[k], &list[i]); k++)
			ns += list[k].ns;
		files++;
		if (ns > most) {
			most = ns;
			best = i;
		}
	}
	if (list && files) {
		snprintf(path, sizeof(path), "%.*s", (int)(list[best].n < sizeof(path) ? list[best].n : sizeof(path)),
			 list[best].file);
		figure_text(a, out, "path", text_clean(clean, sizeof(clean), path, sizeof(clean)));
		figure_count(out, "files", files);
		if (files > 1)
			figure_count(out, "more_files", files - 1);
	}
	free(list);
}

/* ---- reads -------------------------------------------------------------------------------------------------------------- */

static bool reads_data(const struct host_trace *h, const struct host_what *what)
{
	enum chain_state state = chain_state_of(&h->header, what, false);

	return (state == CHAIN_FILE_READ || state == CHAIN_FAULT) && file_use(what) == FILE_DATA;
}

static void add_bytes(struct read_use *out, uint64_t bytes)
{
	if (__builtin_add_overflow(out->bytes, bytes, &out->bytes))
		out->bytes = UINT64_MAX;
}

/* A read that waits several times says each time what it asked for. */
static bool is_same_read(const struct host_what *a, const struct host_what *b)
{
	return a && a->inode == b->inode && a->dev == b->dev && a->offset == b->offset && a->bytes == b->bytes;
}

static void add_waits(struct read_use *out, const struct advisor *a, const struct host_trace *h,
		      const struct host_task *task)
{
	const struct host_what *last = NULL;

	for (size_t i = host_wait_after(task, a->recovery->begin_ns); i < task->n_waits; i++) {
		const struct host_wait *w = &task->waits[i];

		if (w->out_ns >= a->recovery->end_ns)
			break;
		if (!reads_data(h, &w->what))
			continue;
		out->ns = sum64(out->ns, seen_part(a, w->out_ns, w->in_ns));
		if (!is_same_read(last, &w->what)) {
			out->n++;
			add_bytes(out, w->what.bytes);
		}
		last = &w->what;
	}
}

static void add_stalls(struct read_use *out, const struct advisor *a, const struct host_trace *h,
		       const struct host_task *task)
{
	for (size_t i = 0; i < task->n_stalls; i++) {
		const struct host_stalls *s = &task->stalls[i];

		if (seen_part(a, s->begin_ns, s->end_ns) < s->end_ns - s->begin_ns || !reads_data(h, &s->what))
			continue;
		out->ns = sum64(out->ns, s->blocked_ns);
		out->n += s->count;
		if (s->what.offset != UINT64_MAX && s->last_offset != UINT64_MAX && s->last_offset > s->what.offset)
			add_bytes(out, s->last_offset - s->what.offset);
		add_bytes(out, s->what.bytes);
	}
}

/* ---- a mapped file's pages ---------------------------------------------------------------------------------------------- */

#define MAPPED 64 /* files; those that come later are not told of */

struct mapped {
	uint64_t inode;
	uint32_t dev;
};

static bool is_reader(const struct host_trace *h, size_t task, const uint8_t *marks)
{
	return marks[task] & (TASK_END | TASK_TREE) && !(h->tasks[task].flags & (GST_TASK_STRANGER | GST_TASK_KERNEL));
}

static bool is_mapped(const struct mapped *files, size_t n, uint64_t inode, uint32_t dev)
{
	for (size_t i = 0; i < n; i++)
		if (files[i].inode == inode && files[i].dev == dev)
			return true;
	return false;
}

/* Whose faults somebody waited for. */
static size_t find_mapped(struct mapped files[MAPPED], const struct advisor *a, const struct host_trace *h,
			  const uint8_t *marks)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_tasks; i++)
		for (size_t k = host_wait_after(&h->tasks[i], a->recovery->begin_ns);
		     is_reader(h, i, marks) && k < h->tasks[i].n_waits; k++) {
			const struct host_wait *w = &h->tasks[i].waits[k];

			if (w->out_ns >= a->recovery->end_ns)
				break;
			if (n < MAPPED && w->what.inode && !w->what.bytes && reads_data(h, &w->what) &&
			    !is_mapped(files, n, w->what.inode, w->what.dev))
				files[n++] = (struct mapped){ w->what.inode, w->what.dev };
		}
	return n;
}

/* Others may read the same file. The kernel's own threads do so for somebody: who that is, is not known. */
static bool is_for_others(const struct host_trace *h, const struct host_request *r, const uint8_t *marks)
{
	return r->task < h->n_tasks && !(h->tasks[r->task].flags & GST_TASK_KERNEL) && !is_reader(h, r->task, marks);
}

/* A fault does not say how much is read: the disk's requests do. */
static void add_requests(struct read_use *out, const struct advisor *a, const struct host_trace *h,
			 const uint8_t *marks)
{
	struct mapped files[MAPPED];
	size_t n = find_mapped(files, a, h, marks);

	for (size_t i = 0; n && i < h->n_requests; i++) {
		const struct host_request *r = &h->requests[i];

		if (!(r->flags & GST_REQUEST_WRITE) && seen_part(a, r->done_ns, r->done_ns + 1) > 0 &&
		    !is_for_others(h, r, marks) && is_mapped(files, n, r->inode, r->file_dev))
			add_bytes(out, r->bytes);
	}
}

/* ---- all of them -------------------------------------------------------------------------------------------------------- */

static bool is_read(const struct gap_cause *c)
{
	return c->cause == CAUSE_input_storage;
}

static void add_host(struct read_use *out, const struct advisor *a, const struct host_trace *h, const uint8_t *marks)
{
	for (size_t i = 0; i < h->n_tasks; i++) {
		uint64_t before = out->n;

		if (!is_reader(h, i, marks))
			continue;
		add_waits(out, a, h, &h->tasks[i]);
		add_stalls(out, a, h, &h->tasks[i]);
		out->readers += out->n > before;
	}
	add_requests(out, a, h, marks);
}

void seen_reads(struct advisor *a, struct read_use *out)
{
	const struct run *run = a->summary->run;
	struct seen_tasks seen;
	bool failed = !tasks_find(&seen, a, is_read);

	*out = (struct read_use){ 0 };
	for (size_t i = 0; !failed && i < run->n_hosts; i++) {
		uint8_t *marks = tasks_mark(&seen, run->hosts[i], &failed);

		if (marks)
			add_host(out, a, run->hosts[i], marks);
		free(marks);
	}
	tasks_free(&seen);
	a->failed |= failed;
}
