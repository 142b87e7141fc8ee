/* SPDX-License-Identifier: BSD-2-Clause */
#include "import_json.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_pieces.h"
#include "import_yajl.h"
#include "tools/pool.h"
#include "tools/progress.h"

#define READERS_MOST 8 /* to unpack is one thread's work: more would wait for it */
#define TRIES 8        /* pieces that may be read in vain, until nothing is read ahead any more */

struct json {
	const struct import_json_calls *calls;
	const struct import_json_ahead *ahead;
	void *to;
	const char *path;
	struct error *damage, *e;

	pthread_mutex_t reads; /* of what follows */
	struct import_pieces pieces;
	uint64_t taken; /* pieces so far */
	uint64_t told_progress;
	bool all_taken;
	enum err_kind failed; /* to read, behind those that were taken … */
	struct error why;     /* … why */

	pthread_mutex_t turns; /* of `turn`; what follows is whose turn it is */
	pthread_cond_t turned;
	uint64_t turn;    /* number of the piece that comes next */
	atomic_bool over; /* go no further: kind, or damage */
	enum err_kind kind;
	struct import_yajl *yajl; /* of all that was not read ahead */
	bool listed;              /* what comes is behind an element of a list */
	unsigned in_vain;         /* pieces that were read ahead, less those that it was good for */
	atomic_bool tires;
	size_t quiet; /* bytes since the last token */
	char last;    /* byte that is no space */
};

/* ---- in turn ---------------------------------------------------------------------------------------------- */

static void stop(struct json *j, enum err_kind kind)
{
	j->kind = kind;
	j->over = true;
}

static void no_memory(struct json *j)
{
	stop(j, err_set(j->e, ERR_SYSTEM, j->path, ERR_NO_BYTE, "out of memory"));
}

static char last_of(const struct import_piece *p, char otherwise)
{
	size_t n = p->n;

	while (n && strchr(" \t\r\n", p->at[n - 1]))
		n--;
	return n ? p->at[n - 1] : otherwise;
}

/* Only in turn: what is read ahead may begin in the middle of a text. */
static enum import_yajl_end feed(struct json *j, const struct import_piece *p)
{
	enum import_yajl_end end;
	size_t from = 0;

	while ((end = import_yajl_feed(j->yajl, p->at + from, p->n - from, p->byte + from)) == IMPORT_YAJL_DAMAGED) {
		end = import_yajl_mend(j->yajl, p->at, p->n, &from);
		if (end != IMPORT_YAJL_MORE)
			break;
		if (j->calls->mended)
			j->calls->mended(j->to, p->byte + from);
	}
	return end;
}

static void read_piece(struct json *j, const struct import_piece *p)
{
	switch (feed(j, p)) {
	case IMPORT_YAJL_MORE:
		break;
	case IMPORT_YAJL_DAMAGED:
		if (import_yajl_damage(j->yajl, j->path, j->damage))
			stop(j, ERR_NONE);
		else
			no_memory(j);
		return;
	default:
		no_memory(j);
		return;
	}
	j->quiet = import_yajl_told(j->yajl) ? 0 : j->quiet + p->n;
	j->listed = p->before && j->ahead && import_yajl_closed(j->yajl) && j->ahead->listed(j->to);
	if (j->quiet <= IMPORT_JSON_TEXT)
		return;
	err_set(j->damage, ERR_FORMAT, j->path, p->byte + p->n - j->quiet, "%zu bytes and no end of a text", j->quiet);
	stop(j, ERR_NONE);
}

/* aside: what was read ahead of it; NULL: nothing that is good for anything. */
static void take_piece(struct json *j, const struct import_piece *p, void *aside)
{
	bool joins = aside && j->listed;

	if (!joins)
		read_piece(j, p);
	else if (!j->ahead->join(j->to, aside))
		no_memory(j);
	j->last = last_of(p, j->last);
}

/* ---- ahead ------------------------------------------------------------------------------------------------ */

struct reading { /* one thread's */
	struct import_piece piece;
	void *aside;
	struct import_yajl *yajl; /* of elements; NULL: none that could be read on with */
};

/* The reader aside, where all of the piece is elements. */
static void *read_ahead(struct json *j, struct reading *r)
{
	if (!r->aside)
		r->aside = j->ahead->aside(j->to);
	if (!r->aside || !j->ahead->begin(r->aside, r->piece.at, r->piece.n))
		return NULL;
	if (!r->yajl)
		r->yajl = import_yajl_new(j->calls, r->aside, true);
	if (r->yajl && import_yajl_feed(r->yajl, r->piece.at, r->piece.n, r->piece.byte) == IMPORT_YAJL_MORE &&
	    import_yajl_closed(r->yajl))
		return r->aside;
	import_yajl_free(r->yajl);
	r->yajl = NULL;
	return NULL;
}

static void reading_free(struct json *j, struct reading *r)
{
	import_yajl_free(r->yajl);
	if (r->aside)
		j->ahead->free(r->aside);
	free(r->piece.at);
}

/* ---- all pieces ------------------------------------------------------------------------------------------- */

/* Only the thread that was there before is listened to. */
static void tell_progress(struct json *j)
{
	uint64_t taken = import_unpack_taken(j->pieces.file);

	if (!progress_is_heard())
		return;
	progress_add(taken - j->told_progress);
	j->told_progress = taken;
}

/* False: there is none any more. *number: when it is its turn. */
static bool next_piece(struct json *j, struct import_piece *piece, uint64_t *number)
{
	bool there;

	pthread_mutex_lock(&j->reads);
	if (!j->all_taken && !j->over)
		j->failed = import_pieces_next(&j->pieces, piece, j->path, &j->why);
	there = !j->all_taken && !j->over && !j->failed && piece->n > 0;
	j->all_taken |= !there;
	*number = there ? j->taken++ : 0;
	tell_progress(j);
	pthread_mutex_unlock(&j->reads);
	return there;
}

static bool is_turn(struct json *j, uint64_t number)
{
	bool is;

	pthread_mutex_lock(&j->turns);
	is = j->turn == number;
	pthread_mutex_unlock(&j->turns);
	return is;
}

static void await_turn(struct json *j, uint64_t number)
{
	pthread_mutex_lock(&j->turns);
	while (j->turn != number)
		pthread_cond_wait(&j->turned, &j->turns);
	pthread_mutex_unlock(&j->turns);
}

static void pass_turn(struct json *j)
{
	pthread_mutex_lock(&j->turns);
	j->turn++;
	pthread_cond_broadcast(&j->turned);
	pthread_mutex_unlock(&j->turns);
}

static bool can_be_ahead(const struct json *j, const struct reading *r)
{
	return j->ahead && r->piece.after && r->piece.before && !j->tires && !j->over;
}

/* A file whose lists are not where they were looked for is read by one thread, so that it does not cost twice. */
static void count_tries(struct json *j, const void *aside)
{
	j->in_vain = !aside ? j->in_vain + 1 : j->in_vain ? j->in_vain - 1 : 0;
	j->tires = j->in_vain >= TRIES;
}

static enum err_kind read_pieces(void *job, size_t task, struct error *e)
{
	struct json *j = job;
	struct reading r = { 0 };
	uint64_t number;

	(void)task;
	(void)e;
	while (next_piece(j, &r.piece, &number)) {
		bool tries = !is_turn(j, number) && can_be_ahead(j, &r);
		void *aside = tries ? read_ahead(j, &r) : NULL;

		await_turn(j, number);
		if (tries)
			count_tries(j, j->listed ? aside : NULL);
		if (!j->over)
			take_piece(j, &r.piece, aside);
		pass_turn(j);
	}
	reading_free(j, &r);
	return ERR_NONE;
}

/* The whole file is there, as far as it goes. */
static void at_end(struct json *j)
{
	unsigned depth = import_yajl_depth(j->yajl);

	if (import_unpack_damage(j->pieces.file))
		err_set(j->damage, ERR_FORMAT, j->path, j->pieces.byte, "%s", import_unpack_damage(j->pieces.file));
	else if (!import_yajl_any(j->yajl))
		err_set(j->damage, ERR_FORMAT, j->path, j->pieces.byte, "it ends before anything is in it");
	else if (!import_yajl_ended(j->yajl) &&
		 !(import_yajl_array(j->yajl) && depth == 1 && j->last && strchr("[},", j->last)))
		err_set(j->damage, ERR_FORMAT, j->path, j->pieces.byte, "it ends in the middle: %u brackets are open",
			depth);
}

static enum err_kind read_all(struct json *j)
{
	struct reading first = { 0 };
	unsigned threads = pool_threads();
	uint64_t number;

	j->yajl = import_yajl_new(j->calls, j->to, false);
	if (!j->yajl) {
		no_memory(j);
		return j->kind;
	}
	if (next_piece(j, &first.piece, &number)) {
		take_piece(j, &first.piece, NULL);
		pass_turn(j);
	}
	reading_free(j, &first);
	if (!j->over && !j->all_taken)
		pool_run(!j->ahead || j->pieces.ended ? 1
			 : threads < READERS_MOST     ? threads
						      : READERS_MOST,
			 read_pieces, j, j->e);
	if (!j->over && j->failed) {
		*j->e = j->why;
		return j->failed;
	}
	if (!j->over)
		at_end(j);
	return j->kind;
}

/* The byte is none of the file that the user sees. */
static void say_unpacked(struct error *damage)
{
	size_t n = strlen(damage->text);

	snprintf(damage->text + n, sizeof(damage->text) - n, " (counted in what it unpacks to)");
}

enum err_kind import_json_read(const char *path, const struct import_json_calls *calls,
			       const struct import_json_ahead *ahead, void *to, struct error *damage, struct error *e)
{
	struct json j = { .calls = calls, .ahead = ahead, .to = to, .path = path, .damage = damage, .e = e };
	enum err_kind kind = import_pieces_open(&j.pieces, path, e);

	if (kind)
		return kind;
	pthread_mutex_init(&j.reads, NULL);
	pthread_mutex_init(&j.turns, NULL);
	pthread_cond_init(&j.turned, NULL);
	kind = read_all(&j);
	pthread_cond_destroy(&j.turned);
	pthread_mutex_destroy(&j.turns);
	pthread_mutex_destroy(&j.reads);
	if (damage->kind && import_unpack_packed(j.pieces.file))
		say_unpacked(damage);
	import_yajl_free(j.yajl);
	import_pieces_close(&j.pieces);
	return kind;
}
