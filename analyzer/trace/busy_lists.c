/* SPDX-License-Identifier: BSD-2-Clause */
#include "busy_lists.h"

#include "tools/alloc.h"

#include <stdlib.h>

struct naming {
	uint32_t stream;
	uint32_t list;
};

static int by_stream(const void *a, const void *b)
{
	const struct naming *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->list > y->list) - (x->list < y->list);
}

static bool naming_before(const void *element, const void *key)
{
	return by_stream(element, key) < 0;
}

static bool earlier(const void *element, const void *key)
{
	return ((const struct busy_list *)element)->time_ns < *(const int64_t *)key;
}

bool busy_lists_new(struct busy_lists *out, const struct trace *t)
{
	*out = (struct busy_lists){ .t = t, .namings = array_new(t->n_busy_streams, sizeof(*out->namings)) };
	for (size_t k = 0; k < 2; k++)
		out->next[k] = array_new(t->n_busy + 1, sizeof(*out->next[k]));
	if (!out->namings || !out->next[0] || !out->next[1])
		return false;
	out->next[0][t->n_busy] = out->next[1][t->n_busy] = t->n_busy;
	for (size_t i = t->n_busy; i-- > 0;) {
		const struct busy_list *list = &t->busy[i];

		out->next[0][i] = list->open ? out->next[0][i + 1] : i;
		out->next[1][i] = list->open || list->left ? out->next[1][i + 1] : i;
		for (size_t k = 0; k < list->n; k++)
			out->namings[out->n_namings++] =
				(struct naming){ t->busy_streams[list->first + k], (uint32_t)i };
	}
	array_sort(out->namings, out->n_namings, sizeof(*out->namings), by_stream);
	return true;
}

void busy_lists_free(struct busy_lists *b)
{
	free(b->namings);
	free(b->next[0]);
	free(b->next[1]);
}

/* Each list that is passed over names the stream, so all streams together take no longer than the lists are. */
int64_t busy_lists_idle(const struct busy_lists *b, uint32_t stream, int64_t from_ns, bool destroyed)
{
	const size_t *next = b->next[destroyed];
	size_t i = next[array_first(b->t->busy, b->t->n_busy, sizeof(*b->t->busy), earlier, &from_ns)];
	const struct naming key = { stream, (uint32_t)i };
	size_t at = array_first(b->namings, b->n_namings, sizeof(key), naming_before, &key);

	for (; i < b->t->n_busy; i = next[i + 1]) {
		while (at < b->n_namings && b->namings[at].stream == stream && b->namings[at].list < i)
			at++;
		if (at == b->n_namings || b->namings[at].stream != stream || b->namings[at].list != i)
			return b->t->busy[i].time_ns;
	}
	return INT64_MAX;
}
