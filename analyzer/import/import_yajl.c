/* SPDX-License-Identifier: BSD-2-Clause */
#include "import_yajl.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "import_mend.h"

/* Brackets opened again, and as many more as bytes were read: a trace has some five open where it has to be mended, so it is read to its end,
 * and what nests deeply does not take long. */
#define OPENED_AGAIN_MOST ((uint64_t)1 << 24)

/* yajl takes its memory for granted: where there is none it is left by a jump. So its blocks are listed here, and freed without its help. */
struct block {
	struct block *before, *after;
	_Alignas(16) char bytes[];
};

struct import_yajl {
	const struct import_json_calls *calls;
	void *to;
	yajl_handle yajl;
	uint64_t base;                           /* byte of the file where the piece begins */
	size_t bytes;                            /* of the piece */
	size_t closed;                           /* of them up to the last closing bracket */
	unsigned depth, floor;                   /* open brackets; those that may not be closed */
	unsigned most;                           /* … that may be open */
	bool told;                               /* a token in the piece */
	bool any, ended;                         /* a token; the outermost value's last bracket */
	bool array;                              /* the outermost value is one */
	uint8_t maps[IMPORT_JSON_DEPTH / 8 + 1]; /* of each open bracket a bit: it is a map's */
	uint64_t opened_again;                   /* brackets, of all that was mended */
	uint64_t mended_at;  /* byte of the file where the last thing that was mended begins; UINT64_MAX */
	bool too_deep, left; /* why yajl was told to stop, if it was not by a call */
	struct block *blocks;
	jmp_buf no_memory;
};

/* ---- memory ----------------------------------------------------------------------------------------------- */

static void link_block(struct import_yajl *y, struct block *b)
{
	b->before = NULL;
	b->after = y->blocks;
	if (y->blocks)
		y->blocks->before = b;
	y->blocks = b;
}

static void unlink_block(struct import_yajl *y, struct block *b)
{
	*(b->before ? &b->before->after : &y->blocks) = b->after;
	if (b->after)
		b->after->before = b->before;
}

static void *yajl_resize(void *of, void *bytes, size_t size)
{
	struct import_yajl *y = of;
	struct block *old = bytes ? (struct block *)((char *)bytes - offsetof(struct block, bytes)) : NULL;
	struct block *b;

	if (old)
		unlink_block(y, old);
	b = realloc(old, sizeof(*b) + size);
	if (!b) {
		if (old)
			link_block(y, old);
		longjmp(y->no_memory, 1);
	}
	link_block(y, b);
	return b->bytes;
}

static void *yajl_take(void *of, size_t size)
{
	return yajl_resize(of, NULL, size);
}

static void yajl_give(void *of, void *bytes)
{
	struct block *b = (struct block *)((char *)bytes - offsetof(struct block, bytes));

	if (!bytes)
		return;
	unlink_block(of, b);
	free(b);
}

/* ---- tokens ----------------------------------------------------------------------------------------------- */

static uint64_t place(const struct import_yajl *y)
{
	return y->base + yajl_get_bytes_consumed(y->yajl);
}

static int token(struct import_yajl *y, bool goes_on)
{
	y->told = true;
	return goes_on;
}

static int on_null(void *of)
{
	struct import_yajl *y = of;

	return token(y, y->calls->word(y->to, -1));
}

static int on_boolean(void *of, int value)
{
	struct import_yajl *y = of;

	return token(y, y->calls->word(y->to, value != 0));
}

static int on_number(void *of, const char *at, size_t bytes)
{
	struct import_yajl *y = of;

	return token(y, y->calls->number(y->to, at, bytes));
}

static int on_text(void *of, const unsigned char *at, size_t bytes)
{
	struct import_yajl *y = of;

	return token(y, y->calls->text(y->to, (const char *)at, bytes));
}

static int on_key(void *of, const unsigned char *at, size_t bytes)
{
	struct import_yajl *y = of;

	return token(y, y->calls->key(y->to, (const char *)at, bytes));
}

static bool is_map(const struct import_yajl *y, unsigned depth)
{
	return y->maps[depth / 8] >> depth % 8 & 1;
}

static void set_map(struct import_yajl *y, unsigned depth, bool map)
{
	y->maps[depth / 8] &= (uint8_t) ~(1 << depth % 8);
	y->maps[depth / 8] |= (uint8_t)(map << depth % 8);
}

static int open_value(struct import_yajl *y, bool map)
{
	if (y->depth++ == 0)
		y->array = !map;
	set_map(y, y->depth - 1, map);
	if (y->depth > y->most) {
		y->too_deep = true;
		return 0;
	}
	return token(y, y->calls->open(y->to, map, place(y) - 1));
}

static int on_map(void *of)
{
	return open_value(of, true);
}

static int on_array(void *of)
{
	return open_value(of, false);
}

static int on_end(void *of)
{
	struct import_yajl *y = of;

	y->ended = --y->depth == 0;
	y->closed = yajl_get_bytes_consumed(y->yajl);
	if (y->depth < y->floor) {
		y->left = true;
		return 0;
	}
	return token(y, y->calls->close(y->to));
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_text,
	.yajl_start_map = on_map,
	.yajl_map_key = on_key,
	.yajl_end_map = on_end,
	.yajl_start_array = on_array,
	.yajl_end_array = on_end,
};

/* ---- a text ----------------------------------------------------------------------------------------------- */

static bool unheard_open(void *to, bool map, uint64_t byte)
{
	(void)to;
	(void)map;
	(void)byte;
	return true;
}

static bool unheard_close(void *to)
{
	(void)to;
	return true;
}

static bool unheard_key(void *to, const char *at, size_t bytes)
{
	(void)to;
	(void)at;
	(void)bytes;
	return true;
}

static const struct import_json_calls unheard = { .open = unheard_open, .close = unheard_close, .key = unheard_key };

/* What nobody is told of. */
static void feed_unheard(struct import_yajl *y, const char *text)
{
	const struct import_json_calls *calls = y->calls;

	y->calls = &unheard;
	yajl_parse(y->yajl, (const unsigned char *)text, strlen(text));
	y->calls = calls;
}

/* A list with an element: another one may follow. No list of elements lies deeper than two brackets, of which yajl knows one here. */
static void begin_list(struct import_yajl *y)
{
	feed_unheard(y, "[{}");
	y->floor = 1;
	y->most = IMPORT_JSON_DEPTH - 1;
}

static void new_yajl(struct import_yajl *y)
{
	yajl_alloc_funcs memory = { yajl_take, yajl_resize, yajl_give, y };

	y->yajl = yajl_alloc(&callbacks, &memory, y);
	yajl_config(y->yajl, yajl_dont_validate_strings, 1);
}

static bool make_yajl(struct import_yajl *y, bool listed)
{
	if (setjmp(y->no_memory))
		return false;
	new_yajl(y);
	if (listed)
		begin_list(y);
	return true;
}

struct import_yajl *import_yajl_new(const struct import_json_calls *calls, void *to, bool listed)
{
	struct import_yajl *y = calloc(1, sizeof(*y));

	if (!y)
		return NULL;
	y->calls = calls;
	y->to = to;
	y->most = IMPORT_JSON_DEPTH;
	y->mended_at = UINT64_MAX;
	if (make_yajl(y, listed))
		return y;
	import_yajl_free(y);
	return NULL;
}

void import_yajl_free(struct import_yajl *y)
{
	if (!y)
		return;
	while (y->blocks) {
		struct block *after = y->blocks->after;

		free(y->blocks);
		y->blocks = after;
	}
	free(y);
}

enum import_yajl_end import_yajl_feed(struct import_yajl *y, const char *at, size_t n, uint64_t base)
{
	yajl_status status;

	if (setjmp(y->no_memory))
		return IMPORT_YAJL_NO_MEMORY;
	y->told = false;
	y->closed = 0;
	y->base = base;
	y->bytes = n;
	status = yajl_parse(y->yajl, (const unsigned char *)at, n);
	y->any |= y->told;
	if (status == yajl_status_ok)
		return IMPORT_YAJL_MORE;
	if (status == yajl_status_error)
		return IMPORT_YAJL_DAMAGED;
	if (y->left || (y->too_deep && y->floor))
		return IMPORT_YAJL_LEFT;
	return y->too_deep ? IMPORT_YAJL_DAMAGED : IMPORT_YAJL_NO_MEMORY;
}

/* ---- on behind what is mended ------------------------------------------------------------------------------ */

/* yajl reads no further once it has stumbled: another one is taken where it was, as many brackets deep. */
static void open_again(struct import_yajl *y, bool key)
{
	unsigned depth = y->depth;

	yajl_free(y->yajl);
	new_yajl(y);
	y->opened_again += depth;
	y->depth = 0;
	for (unsigned i = 0; i < depth; i++)
		feed_unheard(y, !is_map(y, i) ? "[" : key && i + 1 == depth ? "{" : "{\"\":");
}

static bool stumbled_in_text(struct import_yajl *y)
{
	unsigned char *words = yajl_get_error(y->yajl, 0, NULL, 0);
	bool is = words && strstr((char *)words, "inside") && strstr((char *)words, "string");

	yajl_free_error(y->yajl, words);
	return is;
}

enum import_yajl_end import_yajl_mend(struct import_yajl *y, char *at, size_t n, size_t *from)
{
	size_t stumbled = *from + yajl_get_bytes_consumed(y->yajl), begin;
	bool map = y->depth && is_map(y, y->depth - 1), text, key;
	char behind;

	if (y->too_deep || y->floor || !y->depth || y->opened_again > OPENED_AGAIN_MOST + y->base)
		return IMPORT_YAJL_DAMAGED;
	if (setjmp(y->no_memory))
		return IMPORT_YAJL_NO_MEMORY;
	text = stumbled_in_text(y);
	begin = text ? import_mend_text(at, n, stumbled) : import_mend_word(at, n, stumbled);
	if (begin == IMPORT_MEND_NONE || begin < *from || (begin == *from && y->mended_at == y->base))
		return IMPORT_YAJL_DAMAGED;
	behind = import_mend_behind(at, begin);
	key = behind == '{' || (behind == ',' && map);
	if (!behind || (behind != ',' && map != (behind != '[')) || (key && !text))
		return IMPORT_YAJL_DAMAGED;
	open_again(y, key);
	y->mended_at = y->base - *from + begin;
	*from = begin;
	return IMPORT_YAJL_MORE;
}

bool import_yajl_told(const struct import_yajl *y)
{
	return y->told;
}

bool import_yajl_closed(const struct import_yajl *y)
{
	return y->told && y->closed == y->bytes && (!y->floor || y->depth == y->floor);
}

/* What yajl says is one line for people. It has consumed what it stumbled over. */
bool import_yajl_damage(struct import_yajl *y, const char *path, struct error *damage)
{
	unsigned char *words;
	uint64_t byte = place(y);

	if (y->too_deep) {
		err_set(damage, ERR_FORMAT, path, byte - 1, "values nest more than %d deep", IMPORT_JSON_DEPTH);
		return true;
	}
	if (setjmp(y->no_memory))
		return false;
	words = yajl_get_error(y->yajl, 0, NULL, 0);
	err_set(damage, ERR_FORMAT, path, byte - (byte > 0), "%.*s", words ? (int)strcspn((char *)words, "\n") : 0,
		words ? (char *)words : "");
	return true;
}

bool import_yajl_any(const struct import_yajl *y)
{
	return y->any;
}

bool import_yajl_ended(const struct import_yajl *y)
{
	return y->ended;
}

bool import_yajl_array(const struct import_yajl *y)
{
	return y->array;
}

unsigned import_yajl_depth(const struct import_yajl *y)
{
	return y->depth;
}

uint64_t import_yajl_byte(const struct import_yajl *y)
{
	return place(y);
}
