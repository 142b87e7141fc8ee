/* SPDX-License-Identifier: BSD-2-Clause */
#include "findings.h"

#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"

_Static_assert(sizeof(struct finding) <= 64, "there is one for each answer of a chain");

static struct finding *add(struct findings *list, const struct finding *like)
{
	static _Thread_local struct finding scratch;
	struct finding *f = &scratch;

	if (array_room(list->at, list->n, list->cap))
		f = &list->at[list->n++];
	else
		list->failed = true;
	*f = *like;
	return f;
}

/* One that was used before, or a new one. */
static struct finding_words *take_words(struct findings *list)
{
	static _Thread_local struct finding_words scratch;
	struct finding_words *w = NULL;

	if (array_room(list->words, list->n_words, list->cap_words)) {
		while (list->n_made <= list->n_words && (w = malloc(sizeof(*w))))
			list->words[list->n_made++] = w;
		w = list->n_made > list->n_words ? list->words[list->n_words++] : NULL;
	}
	if (!w) {
		list->failed = true;
		w = &scratch;
	}
	memset(w, 0, sizeof(*w));
	return w;
}

struct finding *findings_add(struct findings *list, enum cause_id cause, enum confidence confidence, int64_t begin_ns,
			     int64_t end_ns)
{
	return add(list, &(struct finding){ .begin_ns = begin_ns,
					    .end_ns = end_ns,
					    .cause = cause,
					    .confidence = confidence,
					    .words = take_words(list) });
}

struct finding *findings_add_way(struct findings *list, const struct chain_segment *way, enum cause_id cause,
				 enum confidence confidence, int64_t begin_ns, int64_t end_ns)
{
	return add(
		list,
		&(struct finding){
			.begin_ns = begin_ns, .end_ns = end_ns, .cause = cause, .confidence = confidence, .way = way });
}

void findings_clear(struct findings *list)
{
	list->n = list->n_words = 0;
}

void findings_free(struct findings *list)
{
	free(list->at);
	for (size_t i = 0; i < list->n_made; i++)
		free(list->words[i]);
	free(list->words);
	*list = (struct findings){ 0 };
}
