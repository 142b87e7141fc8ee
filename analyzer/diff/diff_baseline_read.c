/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_baseline_read.c: a file's tokens -> runs. Which field a token is for, and what of it is passed over, is here; what it says is
 * diff_baseline_take.c's. */
#include "diff_baseline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diff_baseline_take.h"
#include "import/import_yajl.h"
#include "tools/alloc.h"

#define PIECE_BYTES 65536

struct bracket {                            /* an open bracket */
	const struct baseline_shape *shape; /* of the object; NULL: what is between the brackets is of a field */
	const struct baseline_field *field; /* … that it is of, or whose key came last; NULL: it is passed over */
	char *of;                           /* the struct */
	char *list;
	size_t n, cap; /* of a list, so far */
	uint64_t byte;
};

struct reading {
	const char *path;
	struct error *e;
	bool said; /* the error */
	struct import_yajl *yajl;
	struct bracket brackets[BASELINE_DEPTH];
	unsigned depth;
	size_t row;          /* a leaf's or a cause's whose key came last */
	uint64_t list_bytes; /* that lists took */
	bool of_ours;        /* the schema is */
	bool is_schema, in_runs;
	struct diff_run *runs;
	size_t n_runs, cap_runs;
};

static bool refuse_at(struct reading *r, uint64_t byte, const char *words)
{
	r->said = true;
	err_set(r->e, ERR_FORMAT, r->path, byte, "%s", words);
	return false;
}

static bool refuse(struct reading *r, const char *words)
{
	return refuse_at(r, import_yajl_byte(r->yajl), words);
}

static struct bracket *top(struct reading *r)
{
	return &r->brackets[r->depth - 1];
}

static struct arena *texts(struct reading *r)
{
	return &r->runs[r->n_runs - 1].texts;
}

/* ---- what they open ---- */

/* A place for one more element, at the end of what is open. NULL: refused, or no memory. */
static char *add_element(struct reading *r, struct bracket *list, const struct baseline_shape *shape)
{
	if (list->n == list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 1;
		char *more;

		r->list_bytes += cap * shape->size;
		if (r->list_bytes > 4 * BASELINE_BYTES) {
			refuse(r, "its lists are too long");
			return NULL;
		}
		more = arena_alloc(texts(r), cap * shape->size);
		if (!more)
			return NULL;
		if (list->n)
			memcpy(more, list->list, list->n * shape->size);
		list->list = more;
		list->cap = cap;
	}
	return list->list + shape->size * list->n++;
}

static char *add_run(struct reading *r)
{
	if (r->n_runs == BASELINE_RUNS) {
		refuse(r, "it holds too many runs");
		return NULL;
	}
	if (!array_room(r->runs, r->n_runs, r->cap_runs))
		return NULL;
	r->runs[r->n_runs] = (struct diff_run){ .index = 0 };
	return (char *)&r->runs[r->n_runs++];
}

/* An object within a list: it is an element, or passed over. */
static bool open_element(struct reading *r, struct bracket *l, struct bracket *in)
{
	const struct baseline_field *f = in->field;

	if (in->shape == NULL && f && f->kind == BASELINE_LIST && in->n < f->most) {
		l->of = add_element(r, in, f->of);
		if (!l->of)
			return false;
		l->shape = f->of;
		memset(l->of, 0, l->shape->size);
		baseline_begin(l->shape, l->of);
	}
	return true;
}

/* What a field of an object is. */
static bool open_field(struct reading *r, struct bracket *l, const struct bracket *in, bool map)
{
	const struct baseline_field *f = in->field;
	bool is_map = f && f->kind != BASELINE_LIST && f->kind != BASELINE_LINES;

	if (!f)
		return true;
	if (f->kind < BASELINE_LEAVES || is_map != map)
		return refuse(r, "a value is not of its kind");
	if (f->kind == BASELINE_ONE) {
		l->shape = f->of;
		l->of = in->of + f->at;
		return true;
	}
	l->field = f;
	l->of = in->of;
	baseline_clear(f, in->of);
	return true;
}

static bool open_in_root(struct reading *r, struct bracket *l, bool map)
{
	if (r->depth == 2 && r->in_runs) { /* within the list of runs */
		if (!map)
			return refuse(r, "a run is no object");
		l->of = add_run(r);
		if (!l->of)
			return false;
		l->shape = &baseline_run;
		baseline_begin(l->shape, l->of);
	} else if (r->is_schema || (r->depth == 1 && r->in_runs && map)) {
		return refuse(r, "a value is not of its kind");
	}
	return true;
}

static bool on_open(void *to, bool map, uint64_t byte)
{
	struct reading *r = to;
	struct bracket *in = r->depth ? top(r) : NULL, *l;
	bool ok = true;

	if (r->depth == BASELINE_DEPTH)
		return refuse_at(r, byte, "values nest too deep");
	l = &r->brackets[r->depth];
	*l = (struct bracket){ .byte = byte };
	if (!in)
		ok = map || refuse_at(r, byte, "it is no baseline: no object");
	else if (r->depth <= 2 && !in->of)
		ok = open_in_root(r, l, map);
	else if (in->shape)
		ok = open_field(r, l, in, map);
	else if (map)
		ok = open_element(r, l, in);
	else if (in->field && in->field->kind == BASELINE_LIST)
		ok = refuse(r, "a value is not of its kind");
	r->depth++;
	return ok;
}

static bool on_close(void *to)
{
	struct reading *r = to;
	struct bracket *l = top(r);
	const char *wrong = l->shape && l->shape->wrong ? l->shape->wrong(l->of) : NULL;

	if (wrong)
		return refuse_at(r, l->byte, wrong);
	if (!l->shape && l->field && l->field->kind == BASELINE_LIST) {
		*(char **)(l->of + l->field->at) = l->list;
		*(size_t *)(l->of + l->field->count) = l->n;
	}
	r->depth--;
	if (r->depth == 1)
		r->in_runs = false;
	return true;
}

/* ---- keys and values ---- */

static bool is_word(const char *at, size_t bytes, const char *word)
{
	return bytes == strlen(word) && memcmp(at, word, bytes) == 0;
}

static bool on_key(void *to, const char *at, size_t bytes)
{
	struct reading *r = to;
	struct bracket *l = top(r);

	if (r->depth == 1) {
		r->is_schema = is_word(at, bytes, "schema");
		r->in_runs = is_word(at, bytes, "runs");
	} else if (l->shape) {
		l->field = NULL;
		for (size_t i = 0; i < l->shape->n && !l->field; i++)
			if (is_word(at, bytes, l->shape->fields[i].name))
				l->field = &l->shape->fields[i];
	} else if (l->field) {
		r->row = baseline_row(l->field, at, bytes);
	}
	return true;
}

/* "gpushim.baseline/1" */
static bool take_schema(struct reading *r, const char *at, size_t bytes)
{
	size_t n = strlen(BASELINE_SCHEMA);
	char number[8] = "", words[128], *end;
	long version;

	if (bytes <= n || bytes - n >= sizeof(number) || memcmp(at, BASELINE_SCHEMA, n) != 0)
		return refuse(r, "it is no baseline: its schema is another");
	memcpy(number, at + n, bytes - n);
	version = strtol(number, &end, 10);
	if (*end || version < 1)
		return refuse(r, "it is no baseline: its schema is another");
	snprintf(words, sizeof(words), "a baseline of version %ld, by a newer gpushim: this one knows version %d",
		 version, BASELINE_VERSION);
	r->of_ours = version <= BASELINE_VERSION;
	return r->of_ours || refuse(r, words);
}

static bool take(struct reading *r, const struct baseline_token *token)
{
	struct bracket *l = r->depth ? top(r) : NULL;
	const char *wrong = NULL;

	if (!l)
		return refuse(r, "it is no baseline: no object");
	if (r->depth == 1 && r->is_schema)
		return token->kind == BASELINE_TEXT_TOKEN ? take_schema(r, token->at, token->bytes)
							  : refuse(r, "it is no baseline: its schema is no text");
	if (r->in_runs && r->depth <= 2)
		return refuse(r, "a run is no object");
	if (!l->field)
		return true;
	if (!l->shape && l->field->kind == BASELINE_LIST)
		return refuse(r, "a value is not of its kind");
	if (!baseline_take(l->field, l->of, l->shape != NULL, r->row, token, texts(r), &wrong))
		return wrong ? refuse(r, wrong) : false;
	return true;
}

static bool on_text(void *to, const char *at, size_t bytes)
{
	return take(to, &(struct baseline_token){ BASELINE_TEXT_TOKEN, at, bytes, 0 });
}

static bool on_number(void *to, const char *at, size_t bytes)
{
	return take(to, &(struct baseline_token){ BASELINE_NUMBER_TOKEN, at, bytes, 0 });
}

static bool on_word(void *to, int word)
{
	return take(to, &(struct baseline_token){ BASELINE_WORD_TOKEN, NULL, 0, word });
}

/* ---- the file ---- */

static const struct import_json_calls calls = { on_open, on_close, on_key, on_text, on_number, on_word, NULL };

static enum err_kind feed(struct reading *r, const char *at, size_t n, uint64_t base)
{
	switch (import_yajl_feed(r->yajl, at, n, base)) {
	case IMPORT_YAJL_MORE:
		return ERR_NONE;
	case IMPORT_YAJL_DAMAGED:
		return import_yajl_damage(r->yajl, r->path, r->e) ? ERR_FORMAT : err_no_memory(r->e, r->path);
	default:
		return r->said ? ERR_FORMAT : err_no_memory(r->e, r->path);
	}
}

static enum err_kind feed_all(struct reading *r, FILE *file)
{
	char piece[PIECE_BYTES];
	uint64_t base = 0;
	size_t n;
	enum err_kind kind = ERR_NONE;

	while (!kind && (n = fread(piece, 1, sizeof(piece), file)) > 0) {
		if (base + n > BASELINE_BYTES)
			return err_set(r->e, ERR_FORMAT, r->path, BASELINE_BYTES, "it is too large for a baseline");
		kind = feed(r, piece, n, base);
		base += n;
	}
	if (kind)
		return kind;
	if (ferror(file))
		return err_set(r->e, ERR_SYSTEM, r->path, base, "cannot be read: %s", strerror(errno));
	if (!import_yajl_ended(r->yajl))
		return err_set(r->e, ERR_FORMAT, r->path, base, base ? "it ends in the middle" : "it is empty");
	return r->of_ours ? ERR_NONE : err_set(r->e, ERR_FORMAT, r->path, base, "it is no baseline: no schema");
}

static enum err_kind read_open(struct reading *r, FILE *file)
{
	enum err_kind kind;

	r->yajl = import_yajl_new(&calls, r, false);
	kind = r->yajl ? feed_all(r, file) : err_no_memory(r->e, r->path);
	import_yajl_free(r->yajl);
	return kind;
}

enum err_kind diff_baseline_read(struct diff_run **runs, size_t *n, const char *path, struct error *e)
{
	struct error unheard;
	struct reading r = { .path = path, .e = e ? e : &unheard };
	FILE *file = fopen(path, "rbe");
	enum err_kind kind = file ? read_open(&r, file) : err_cannot_open(e, path);

	if (file)
		fclose(file);
	if (!kind && !r.n_runs)
		kind = err_set(e, ERR_FORMAT, path, ERR_NO_BYTE, "it holds no run");
	for (size_t i = 0; kind && i < r.n_runs; i++)
		diff_run_free(&r.runs[i]);
	if (kind)
		free(r.runs);
	*runs = kind ? NULL : r.runs;
	*n = kind ? 0 : r.n_runs;
	return kind;
}
