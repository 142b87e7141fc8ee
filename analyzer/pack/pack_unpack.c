/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "pack_load.h"
#include "pack_model.h"
#include "tools/alloc.h"
#include "tools/pool.h"

/* One block after another is unpacked by each of those at work; what comes out is handed on in their order. */
struct unpacking {
	const struct pack_file *p;
	size_t i;
	pack_take *take;
	void *to;
	struct worker {
		struct pack_loaded block;
		struct pack_model model;
		uint8_t *bytes; /* [PACK_BLOCK_BYTES] what it holds: */
		size_t n;
	} * workers;
	unsigned n_workers;
	uint64_t at; /* in the recording: what was handed on */
	uint32_t content;
};

static bool hand_on(struct unpacking *u, const uint8_t *bytes, size_t n, struct error *e)
{
	u->content = (uint32_t)crc32(u->content, bytes, (uInt)n);
	u->at += n;
	return u->take(u->to, bytes, n, u->at - n, e);
}

static enum err_kind make_no_sense(const struct pack_file *p, const struct worker *w, const char *what, struct error *e)
{
	return w->model.columns.no_memory ? pack_no_memory(p, e)
					  : err_set(e, ERR_FORMAT, p->name, w->block.at, "%s", what);
}

/* How many bytes of the recording worker k's block holds. */
static size_t extent(const struct unpacking *u, size_t k)
{
	uint64_t at = u->at, length = u->p->members[u->i].entry.length, n;

	for (size_t i = 0; i < k; i++)
		at += (uint64_t)u->workers[i].block.header.segments * GST_SEGMENT_BYTES;
	n = (uint64_t)u->workers[k].block.header.segments * GST_SEGMENT_BYTES;
	return at >= length ? 0 : length - at < n ? (size_t)(length - at) : (size_t)n;
}

static enum err_kind unpack_block(void *job, size_t k, struct error *e)
{
	struct unpacking *u = job;
	const struct pack_file *p = u->p;
	struct worker *w = &u->workers[k];
	const struct pack_block *h = &w->block.header;
	size_t done = 0;
	enum err_kind kind = pack_load_plain(p, &w->block, e);

	if (kind)
		return kind;
	pack_model_begin(&w->model);
	if (!pack_columns_unpack(&w->model.columns, w->block.plain, h->plain, w->block.bytes + h->packed, h->bits))
		return make_no_sense(p, w, "the columns of this block make no sense", e);
	w->n = extent(u, k);
	memset(w->bytes, 0, w->n);
	for (uint32_t i = 0; i < h->segments; i++) {
		uint32_t room = w->n - done < GST_SEGMENT_BYTES ? (uint32_t)(w->n - done) : GST_SEGMENT_BYTES;

		if (!room)
			return make_no_sense(p, w, "more segments than the recording had", e);
		if (!pack_model_segment(&w->model, w->bytes + done, room))
			return make_no_sense(p, w, "a segment of this block makes no sense", e);
		done += room;
	}
	return pack_columns_ended(&w->model.columns) ? ERR_NONE
						     : make_no_sense(p, w, "not all of this block was used", e);
}

/* The blocks from `number`, as many as there are workers; *n of them were loaded. */
static enum err_kind load_some(struct unpacking *u, uint32_t number, uint64_t *at, size_t *n, struct error *e)
{
	uint32_t blocks = u->p->members[u->i].entry.blocks;
	enum err_kind kind = ERR_NONE;

	for (*n = 0; *n < u->n_workers && number + *n < blocks && !kind; ++*n) {
		struct pack_loaded *b = &u->workers[*n].block;

		pack_loaded_free(b);
		kind = pack_load(u->p, u->i, number + (uint32_t)*n, *at, b, e);
		*at = pack_load_next(b);
	}
	return kind;
}

static enum err_kind unpack_blocks(struct unpacking *u, uint64_t at, struct error *e)
{
	enum err_kind kind = ERR_NONE;
	uint64_t segments = 0;
	size_t n;

	for (uint32_t k = 1; k < u->p->members[u->i].entry.blocks && !kind; k += (uint32_t)n) {
		kind = load_some(u, k, &at, &n, e);
		if (!kind)
			kind = pool_run(n, unpack_block, u, e);
		for (size_t i = 0; i < n && !kind; i++) {
			const struct worker *w = &u->workers[i];

			segments += w->block.header.segments;
			if (!hand_on(u, w->bytes, w->n, e))
				kind = e->kind;
		}
	}
	return kind ? kind : pack_load_whole(u->p, u->i, at, segments, e);
}

static enum err_kind unpack_member(struct unpacking *u, struct error *e)
{
	const struct pack_part *m = &u->p->members[u->i];
	struct pack_loaded front = { 0 };
	enum err_kind kind = pack_load_front(u->p, u->i, &front, e);
	uint64_t at = pack_load_next(&front);

	if (!kind && !hand_on(u, front.plain, front.header.plain, e))
		kind = e->kind;
	pack_loaded_free(&front);
	if (!kind)
		kind = unpack_blocks(u, at, e);
	if (!kind && u->content != m->entry.content)
		kind = err_set(e, ERR_FORMAT, u->p->name, m->entry.begin, "%s is not what was packed", m->name);
	return kind;
}

static bool workers_new(struct unpacking *u)
{
	const struct pack_entry *entry = &u->p->members[u->i].entry;
	unsigned n = pool_threads() < PACK_WORKERS ? pool_threads() : PACK_WORKERS;

	n = n < entry->blocks ? n : entry->blocks;
	u->workers = array_new(n, sizeof(*u->workers));
	for (; u->workers && u->n_workers < n; u->n_workers++) {
		struct worker *w = &u->workers[u->n_workers];

		w->bytes = array_new(PACK_BLOCK_BYTES, 1);
		if (!w->bytes)
			return false;
		if (!pack_model_new(&w->model, entry->kind, (struct pack_clock){ entry->step, entry->pace })) {
			free(w->bytes);
			return false;
		}
		w->model.columns.unpacks = true; /* it owns none of them */
		w->model.rounds = u->p->version != PACK_VERSION_PLAIN;
	}
	return u->workers != NULL;
}

enum err_kind pack_unpack(struct pack_file *p, size_t i, pack_take *take, void *to, struct error *e)
{
	struct unpacking u = { .p = p, .i = i, .take = take, .to = to };
	enum err_kind kind = workers_new(&u) ? unpack_member(&u, e) : pack_no_memory(p, e);

	for (unsigned k = 0; k < u.n_workers; k++) {
		pack_loaded_free(&u.workers[k].block);
		pack_model_free(&u.workers[k].model);
		free(u.workers[k].bytes);
	}
	free(u.workers);
	return kind;
}
