/* SPDX-License-Identifier: BSD-2-Clause */
#include "cause_evidence.h"

#include <stdio.h>
#include <string.h>

#include "tools/text.h"

#define EVIDENCE_MAX 4 /* strings per interval */

/* Room for two more where there is none: most have two. */
static bool room(struct arena *arena, struct gap_cause *c)
{
	const char **list;

	if (c->n_evidence % 2)
		return true;
	list = arena_alloc(arena, (c->n_evidence + 2) * sizeof(*list));
	if (!list)
		return false;
	if (c->n_evidence)
		memcpy(list, c->evidence, c->n_evidence * sizeof(*list));
	c->evidence = list;
	return true;
}

bool cause_add_said(struct arena *arena, struct gap_cause *c, const char *said)
{
	if (!said || !room(arena, c))
		return false;
	c->evidence[c->n_evidence++] = said;
	return true;
}

bool cause_add_text(struct arena *arena, struct gap_cause *c, const char *text)
{
	return cause_add_said(arena, c, arena_text_once(arena, text));
}

bool cause_keep_text(struct arena *arena, struct gap_cause *c, const char *text)
{
	if (!*text || c->n_evidence == EVIDENCE_MAX + (c->n_held > 0)) /* the place always finds room */
		return true;
	for (size_t i = 0; i < c->n_evidence; i++)
		if (strcmp(c->evidence[i], text) == 0)
			return true;
	return cause_add_text(arena, c, text);
}

/* "at train.py:41 in load_batch": of the place that held the longest part, and how many more there are. */
static void held_evidence(char *buf, size_t size, const struct gap_cause *c)
{
	const struct held *longest = NULL;
	char place[FRAME_WORDS], share[TEXT_SHORT];

	*buf = 0;
	for (size_t i = 0; i < c->n_held; i++)
		if (held_frame(&c->held[i]) &&
		    (!longest || c->held[i].end_ns - c->held[i].begin_ns > longest->end_ns - longest->begin_ns))
			longest = &c->held[i];
	if (!longest)
		return;
	held_words(place, sizeof(place), longest);
	snprintf(buf, size, "%s %s", held_by_name(longest->by), place);
	if (c->n_held > 1)
		snprintf(buf + strlen(buf), size - strlen(buf), ", for %s of it",
			 text_percent(share, longest->end_ns - longest->begin_ns, c->end_ns - c->begin_ns));
}

bool cause_keep_place(struct arena *arena, const struct gap_view *view, struct gap_cause *c)
{
	size_t n;
	char text[FRAME_WORDS + 64];

	c->held = held_tile(view, c->begin_ns, c->end_ns, arena, &n);
	if (!c->held)
		return false;
	c->n_held = (uint32_t)n;
	held_evidence(text, sizeof(text), c);
	if (!cause_keep_text(arena, c, text))
		return false;
	for (size_t k = 0; k < c->n_evidence && *text; k++)
		c->place = strcmp(c->evidence[k], text) == 0 ? c->evidence[k] : c->place;
	return true;
}
