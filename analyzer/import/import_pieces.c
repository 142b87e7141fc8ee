/* SPDX-License-Identifier: BSD-2-Clause */
#include "import_pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEP_MOST ((size_t)16 << 20)
#define AT_ONCE ((size_t)512 << 10) /* what unpacks to too much is noticed behind so many bytes */

enum err_kind import_pieces_open(struct import_pieces *p, const char *path, struct error *e)
{
	*p = (struct import_pieces){ .step = IMPORT_PIECE };
	return import_unpack_open(&p->file, path, e);
}

void import_pieces_close(struct import_pieces *p)
{
	import_unpack_close(p->file);
	free(p->rest);
}

static bool room(char **at, size_t *room, size_t bytes)
{
	char *larger = bytes <= *room ? *at : realloc(*at, bytes);

	if (!larger)
		return false;
	*at = larger;
	*room = bytes <= *room ? *room : bytes;
	return true;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static size_t without_space(const char *at, size_t n)
{
	while (n && is_space(at[n - 1]))
		n--;
	return n;
}

/* Behind the last bracket that has ", {" behind it; 0 there is none. */
static size_t last_element(const char *at, size_t n)
{
	const char *bracket;

	while ((bracket = memrchr(at, '{', n)) != NULL) {
		n = without_space(at, (size_t)(bracket - at));
		if (!n || at[n - 1] != ',')
			continue;
		n = without_space(at, n - 1);
		if (n && at[n - 1] == '}')
			return n;
	}
	return 0;
}

/* Where there is no element's end, no word and no text comes in two pieces, nor what it follows in another (import_mend.h), unless it is as long as
 * a piece. 0: it is. *in_text: whether at[0] is in a text; of what is returned 0 for, whether at[n] is. */
static size_t before_last_word(const char *at, size_t n, bool *in_text)
{
	size_t cut = 0;

	for (size_t i = 0; i < n; i++)
		if (at[i] == '"')
			*in_text = !*in_text;
		else if (*in_text)
			i += at[i] == '\\';
		else if (at[i] == ',' || at[i] == ':' || at[i] == '[')
			cut = i;
	return cut;
}

static enum err_kind no_memory(const char *path, struct error *e)
{
	return err_set(e, ERR_SYSTEM, path, ERR_NO_BYTE, "out of memory");
}

/* Fills it up, behind what is there. */
static enum err_kind fill(struct import_pieces *p, struct import_piece *piece, const char *path, struct error *e)
{
	size_t want = piece->n + p->step;

	while (piece->n < want && !p->ended) {
		size_t left = want - piece->n;
		int64_t n = import_unpack_read(p->file, piece->at + piece->n, left < AT_ONCE ? left : AT_ONCE);

		if (n < 0)
			return err_set(e, ERR_SYSTEM, path, p->byte + piece->n, "%s", strerror(errno));
		p->ended = n == 0;
		piece->n += (size_t)n;
	}
	return ERR_NONE;
}

/* A text without an element's end is looked through again with each piece: so pieces become larger, and the time stays in proportion. */
static enum err_kind cut(struct import_pieces *p, struct import_piece *piece, const char *path, struct error *e)
{
	size_t end = p->ended ? 0 : last_element(piece->at, piece->n);

	p->n_rest = 0;
	piece->before = end > 0;
	p->step = end ? IMPORT_PIECE : p->step < STEP_MOST ? 2 * p->step : STEP_MOST;
	if (!end && !p->ended)
		end = before_last_word(piece->at, piece->n, &p->in_text);
	if (end) {
		p->in_text = false;
		if (!room(&p->rest, &p->rest_room, piece->n - end))
			return no_memory(path, e);
		p->n_rest = piece->n - end;
		memcpy(p->rest, piece->at + end, p->n_rest);
		piece->n = end;
	}
	return ERR_NONE;
}

/* A byte order mark is none of JSON's: it is as much as spaces, so that bytes keep their places. */
static void blank_mark(char *at, size_t n)
{
	static const char mark[] = "\xef\xbb\xbf";

	if (n >= sizeof(mark) - 1 && memcmp(at, mark, sizeof(mark) - 1) == 0)
		memset(at, ' ', sizeof(mark) - 1);
}

enum err_kind import_pieces_next(struct import_pieces *p, struct import_piece *piece, const char *path, struct error *e)
{
	enum err_kind kind;

	piece->n = 0;
	if (!room(&piece->at, &piece->room, p->n_rest + p->step))
		return no_memory(path, e);
	if (p->n_rest)
		memcpy(piece->at, p->rest, p->n_rest);
	piece->n = p->n_rest;
	kind = fill(p, piece, path, e);
	if (!kind && p->byte == 0)
		blank_mark(piece->at, piece->n);
	if (!kind)
		kind = cut(p, piece, path, e);
	if (kind)
		return kind;
	piece->byte = p->byte;
	piece->after = p->after;
	p->byte += piece->n;
	p->after = piece->before;
	return ERR_NONE;
}
