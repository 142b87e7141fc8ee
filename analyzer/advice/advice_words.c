/* SPDX-License-Identifier: BSD-2-Clause */
/* advice_words.c: figures, and sentences with figures in them. */
#include "advice_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/text.h"

#define SENTENCE_BYTES 1024

/* ---- figures ------------------------------------------------------------------------------------------------------------ */

const struct figure *figure_get(const struct advice *out, const char *name)
{
	for (size_t i = 0; i < out->n_figures; i++)
		if (!strcmp(out->figures[i].name, name))
			return &out->figures[i];
	return NULL;
}

static void set(struct advice *out, struct figure f)
{
	if (!figure_get(out, f.name) && out->n_figures < ADVICE_FIGURES)
		out->figures[out->n_figures++] = f;
}

static int64_t capped(uint64_t n)
{
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

void figure_count(struct advice *out, const char *name, uint64_t n)
{
	set(out, (struct figure){ .name = name, .kind = FIGURE_COUNT, .n = capped(n) });
}

void figure_ns(struct advice *out, const char *name, int64_t ns)
{
	set(out, (struct figure){ .name = name, .kind = FIGURE_NS, .n = ns });
}

void figure_bytes(struct advice *out, const char *name, uint64_t bytes)
{
	set(out, (struct figure){ .name = name, .kind = FIGURE_BYTES, .n = capped(bytes) });
}

void figure_rate(struct advice *out, const char *name, uint64_t bytes, int64_t ns)
{
	double rate = ns > 0 ? (double)bytes * 1e9 / (double)ns : 0;

	if (ns > 0 && rate < 9e18)
		set(out, (struct figure){ .name = name, .kind = FIGURE_RATE, .n = (int64_t)rate });
}

void figure_real(struct advice *out, const char *name, double real)
{
	set(out, (struct figure){ .name = name, .kind = FIGURE_REAL, .real = real });
}

void figure_share(struct advice *out, const char *name, double share)
{
	set(out, (struct figure){ .name = name, .kind = FIGURE_SHARE, .real = share });
}

void figure_text(struct advisor *a, struct advice *out, const char *name, const char *text)
{
	char *copy = arena_text(a->arena, text);

	if (copy)
		set(out, (struct figure){ .name = name, .kind = FIGURE_TEXT, .text = copy });
	else
		a->failed = true;
}

void figure_per_step(struct advisor *a, struct advice *out, const char *name, uint64_t n)
{
	if (a->recovery->n_steps)
		figure_real(out, name, (double)n / (double)a->recovery->n_steps);
}

void advice_evidence(struct advisor *a, struct advice *out, const char *text)
{
	char *copy = arena_text(a->arena, text);

	if (!copy)
		a->failed = true;
	else if (out->n_evidence < ADVICE_EVIDENCE)
		out->evidence[out->n_evidence++] = copy;
}

void advice_evidence_first(struct advisor *a, struct advice *out, const char *text)
{
	size_t last = out->n_evidence < ADVICE_EVIDENCE ? out->n_evidence : ADVICE_EVIDENCE - 1;
	char *copy = arena_text(a->arena, text);

	if (!copy) {
		a->failed = true;
		return;
	}
	memmove(&out->evidence[1], &out->evidence[0], last * sizeof(*out->evidence));
	out->evidence[0] = copy;
	out->n_evidence = last + 1;
}

/* ---- sentences ---------------------------------------------------------------------------------------------------------- */

struct sentence {
	char text[SENTENCE_BYTES];
	size_t used;
};

static void put(struct sentence *s, const char *text, size_t n)
{
	for (size_t i = 0; i < n && s->used + 5 < sizeof(s->text);) { /* whole characters: there is room for any */
		unsigned length = text_utf8(text + i);

		length = length ? length : 1;
		memcpy(s->text + s->used, text + i, length);
		s->used += length;
		i += length;
	}
	s->text[s->used] = '\0';
}

static void put_figure(struct sentence *s, const struct figure *f)
{
	char buf[TEXT_SHORT + 4];

	switch (f->kind) {
	case FIGURE_COUNT:
		text_count(buf, (uint64_t)f->n);
		break;
	case FIGURE_NS:
		text_duration(buf, f->n);
		break;
	case FIGURE_BYTES:
		text_bytes(buf, (uint64_t)f->n);
		break;
	case FIGURE_RATE:
		text_bytes(buf, (uint64_t)f->n);
		strcat(buf, "/s");
		break;
	case FIGURE_SHARE:
		snprintf(buf, sizeof(buf), "%.0f %%", f->real * 100);
		break;
	case FIGURE_REAL:
		snprintf(buf, sizeof(buf), f->real < 9.95 && f->real > 0 ? "%.1f" : "%.0f", f->real);
		break;
	case FIGURE_TEXT:
		put(s, f->text, strlen(f->text));
		return;
	}
	put(s, buf, strlen(buf));
}

/* The parts of {name|one|many}: begin and length of each; how many. */
static int split(const char *at, size_t n, const char *begin[3], size_t length[3])
{
	int parts = 0;

	while (parts < 3) {
		const char *bar = parts < 2 ? memchr(at, '|', n) : NULL;
		size_t part = bar ? (size_t)(bar - at) : n;

		begin[parts] = at;
		length[parts++] = part;
		if (!bar)
			break;
		at += part + 1;
		n -= part + 1;
	}
	return parts;
}

/* What is in braces. False: there is no such figure. */
static bool say_figure(struct sentence *s, const struct advice *out, const char *at, size_t n)
{
	const char *begin[3];
	size_t length[3];
	int parts = split(at, n, begin, length);
	char name[32];
	const struct figure *f;

	snprintf(name, sizeof(name), "%.*s", (int)length[0], begin[0]);
	f = figure_get(out, name);
	if (!f)
		return false;
	put_figure(s, f);
	if (parts == 3) {
		int which = f->n == 1 ? 1 : 2;

		put(s, " ", 1);
		put(s, begin[which], length[which]);
	}
	return true;
}

const char *advice_say(struct advisor *a, const struct advice *out, const char *sentence)
{
	struct sentence s = { .used = 0 };
	size_t optional = 0; /* where the part in brackets began */
	bool missing = false;
	const char *text;

	for (const char *p = sentence; *p; p++) {
		if (*p == '[') {
			optional = s.used;
			missing = false;
		} else if (*p == ']') {
			if (missing)
				s.text[s.used = optional] = '\0';
			missing = false;
		} else if (*p == '{') {
			size_t n = strcspn(p + 1, "}");

			missing |= !say_figure(&s, out, p + 1, n);
			p += n + 1;
		} else {
			put(&s, p, 1);
		}
	}
	text = arena_text(a->arena, s.text);
	a->failed |= !text;
	return text;
}
