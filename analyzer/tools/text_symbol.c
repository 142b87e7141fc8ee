/* SPDX-License-Identifier: BSD-2-Clause */
#include "text_symbol.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "text.h"

#define NESTED 64 /* brackets in each other; of a name with more only the end is cut */

struct brackets { /* that are open */
	char open[NESTED];
	unsigned n, angles;
	bool bad; /* too many, or they do not match: it is not known what is what */
};

/* The characters that stand here for one piece of a name: 1, or all of "operator<<", whose angles open nothing. */
static size_t piece(const char *at, const char *end, char before)
{
	static const char word[] = "operator";
	size_t n = sizeof(word) - 1, k;
	bool within = before == '_' || (before >= '0' && before <= '9') || (before >= 'A' && before <= 'Z') ||
		      (before >= 'a' && before <= 'z');

	if (within || (size_t)(end - at) < n || memcmp(at, word, n) != 0)
		return 1;
	if ((size_t)(end - at) >= n + 2 && (memcmp(at + n, "()", 2) == 0 || memcmp(at + n, "[]", 2) == 0))
		return n + 2;
	for (k = 0; k < 3 && at + n + k < end && strchr("<>=-+*/%^&|~!,", at[n + k]); k++)
		;
	return n + k;
}

/* What the character does to the brackets. */
static void step(struct brackets *b, char c, char before)
{
	char open = c == '>' ? '<' : c == ')' ? '(' : c == ']' ? '[' : c == '}' ? '{' : 0;

	if (strchr("<([{", c) && c) {
		b->bad |= b->n == NESTED;
		if (!b->bad)
			b->open[b->n++] = c;
		b->angles += c == '<';
		return;
	}
	if (!open || (c == '>' && (before == '-' || !b->n || b->open[b->n - 1] != '<'))) /* "->", "(a > b)" */
		return;
	if (!b->n || b->open[b->n - 1] != open) {
		b->bad = true;
		return;
	}
	b->n--;
	b->angles -= c == '>';
}

/* A blank that ends a type, or the name itself. */
static bool is_gap(const char *at, const char *from, const char *end)
{
	return *at == ' ' && !(at - from >= 8 && memcmp(at - 8, "operator", 8) == 0) && !(at + 1 < end && at[1] == '<');
}

/* The name without its return type and parameters, and what follows these ("const", "[clone .isra.0]"); false: it has a form that is not known. */
static bool core(const char **from, const char **to)
{
	const char *at = *from, *end = *to, *begin = *from, *stop = NULL;
	struct brackets b = { 0 };
	char before = 0;

	for (size_t n; at < end && !b.bad; before = at[n - 1], at += n) {
		n = piece(at, end, before);
		if (n > 1)
			continue;
		if (*at == '(' && !b.n && strncmp(at, "(anonymous namespace)", 21) != 0)
			stop = at;                                     /* the last such group is it */
		if (stop && !b.n && strncmp(at, " const::", 8) == 0) { /* what follows is within a function */
			n = 6;
			continue;
		}
		if (!b.n && is_gap(at, *from, end)) {
			if (stop && at[-1] == ')')
				break;
			begin = at + 1;
		}
		step(&b, *at, before);
	}
	if (b.bad || b.n)
		return false;
	*from = begin;
	*to = stop && stop > begin ? stop : at;
	return *from < *to;
}

struct style {
	unsigned bare;    /* namespaces are left out in brackets of so many and more, UINT_MAX never */
	unsigned deepest; /* angles in each other that are shown */
};

struct out {
	char *buf;
	size_t size, n;
	size_t begin[NESTED + 1]; /* of the component that is being written, by depth of brackets */
	bool full;
};

static void put(struct out *o, const char *s, size_t n)
{
	if (n > o->size - o->n) {
		o->full = true;
		n = o->size - o->n;
	}
	memcpy(o->buf + o->n, s, n);
	o->n += n;
}

/* Behind a template's arguments' begin: its end. */
static const char *skip(const char *at, const char *end)
{
	struct brackets b = { .open = "<", .n = 1, .angles = 1 };
	char before = '<';

	for (size_t n; at < end && b.n && !b.bad; before = at[n - 1], at += n) {
		n = piece(at, end, before);
		if (n == 1)
			step(&b, *at, before);
	}
	return b.bad ? NULL : at;
}

static bool ends_component(char c)
{
	return strchr(" ,(<[{&*=", c) != NULL;
}

/* An operator's or a lambda's own name says nothing without what it is of. */
static bool says_nothing(const char *at, const char *end)
{
	return at < end && (*at == '{' || ((size_t)(end - at) >= 8 && memcmp(at, "operator", 8) == 0));
}

/* False: it does not fit. */
static bool render(struct out *o, const char *at, const char *end, const struct style *s)
{
	struct brackets b = { 0 };
	char before = 0;

	o->n = o->begin[0] = 0;
	o->full = false;
	for (size_t n; at < end && !o->full; before = at[n - 1], at += n) {
		n = piece(at, end, before);
		if (n > 1) {
			put(o, at, n);
			continue;
		}
		if (*at == ':' && at + 1 < end && at[1] == ':' && b.n >= s->bare && !says_nothing(at + 2, end)) {
			o->n = o->begin[b.n];
			n = 2;
			continue;
		}
		if (*at == '<' && b.angles >= s->deepest) {
			const char *behind = skip(at + 1, end);

			if (!behind)
				return false;
			put(o, "<...>", 5);
			n = (size_t)(behind - at);
			continue;
		}
		step(&b, *at, before);
		if (b.bad)
			return false;
		if (*at == ' ' && at + 1 < end && at[1] == '>' && before == '>') /* "> >" of older days */
			continue;
		put(o, at, 1);
		if (ends_component(*at))
			o->begin[b.n] = o->n;
	}
	return !o->full;
}

/* One column for each byte, and nothing that steers a terminal. */
static bool is_plain(const char *s)
{
	while (*s >= ' ' && *s < 0x7f)
		s++;
	return !*s;
}

const char *text_symbol(char *buf, size_t size, const char *name, size_t columns)
{
	static const struct style styles[] = {
		{ UINT_MAX, UINT_MAX }, { 1, UINT_MAX }, { 0, UINT_MAX }, { 0, 4 }, { 0, 3 }, { 0, 2 }, { 0, 1 },
	};
	char whole[1024]; /* beyond what fits, as a namespace may have to go once its end is seen */
	struct out o = { .buf = whole, .size = sizeof(whole) };
	size_t most = size - 1 < columns ? size - 1 : columns;
	const char *from = name, *to = name + strlen(name);
	bool known = false;

	if ((size_t)(to - name) <= most || !is_plain(name) || !core(&from, &to))
		return text_clean(buf, size, name, columns);
	for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++) {
		known = render(&o, from, to, &styles[i]) || o.full;
		if (!o.full && known && o.n <= most)
			break;
	}
	if (!known || most < 3)
		return text_clean(buf, size, name, columns);
	memcpy(buf, whole, o.n < most ? o.n : most);
	buf[o.n < most ? o.n : most] = 0;
	if (o.n > most)
		memcpy(buf + most - 3, "...", 3);
	return buf;
}
