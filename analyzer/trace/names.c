/* SPDX-License-Identifier: BSD-2-Clause */
#include "names.h"

#include "comm_kernels.h"
#include "tools/alloc.h"

#include <stdlib.h>
#include <string.h>

struct name {
	uint64_t key; /* space << 32 | id */
	size_t text;  /* offset in names.text */
	size_t order; /* the first of several records for one id counts */
};

struct names {
	struct name *all; /* sorted by key once published */
	size_t n, cap;
	char *text;
	size_t text_n, text_cap;
	size_t first_kernel, n_kernels; /* kernels stand together in `all` */
};

static uint64_t key_of(uint16_t space, uint32_t id)
{
	return (uint64_t)space << 32 | id;
}

enum err_kind names_new(struct names **out, struct error *e)
{
	*out = calloc(1, sizeof(**out));
	return *out ? ERR_NONE : err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");
}

void names_free(struct names *n)
{
	if (!n)
		return;
	free(n->all);
	free(n->text);
	free(n);
}

bool names_add(struct names *n, const struct gst_name *r)
{
	size_t need = n->text_n + r->length + 1u;

	while (n->text_cap < need) {
		char *bigger = array_grow(n->text, &n->text_cap, 1);

		if (!bigger)
			return false;
		n->text = bigger;
	}
	if (!array_room(n->all, n->n, n->cap))
		return false;
	memcpy(n->text + n->text_n, r->text, r->length);
	n->text[n->text_n + r->length] = '\0';
	n->all[n->n] = (struct name){ key_of(r->space, r->id), n->text_n, n->n };
	n->n++;
	n->text_n = need;
	return true;
}

static int by_key(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static void sort_unique(struct names *n)
{
	size_t kept = 0;

	array_sort(n->all, n->n, sizeof(*n->all), by_key);
	for (size_t i = 0; i < n->n; i++)
		if (kept == 0 || n->all[kept - 1].key != n->all[i].key)
			n->all[kept++] = n->all[i];
	n->n = kept;
	while (n->first_kernel < n->n && n->all[n->first_kernel].key < key_of(GST_SPACE_KERNEL, 0))
		n->first_kernel++;
	while (n->first_kernel + n->n_kernels < n->n &&
	       n->all[n->first_kernel + n->n_kernels].key < key_of(GST_SPACE_FILE, 0))
		n->n_kernels++;
}

static bool lower_key(const void *element, const void *key)
{
	return ((const struct name *)element)->key < *(const uint64_t *)key;
}

static const struct name *find(const struct names *n, uint64_t key)
{
	size_t at = array_first(n->all, n->n, sizeof(*n->all), lower_key, &key);

	return at < n->n && n->all[at].key == key ? &n->all[at] : NULL;
}

/* Ids of kernels are given one by one: where none is missing before it, the name stands where its number says. */
static const struct name *find_dense(const struct names *n, size_t first, size_t among, uint64_t key)
{
	uint64_t place = among ? key - n->all[first].key : 0;

	return place < among && n->all[first + place].key == key ? &n->all[first + place] : find(n, key);
}

const char *names_in(const struct names *n, const char *text, uint16_t space, uint32_t id)
{
	const struct name *name = find(n, key_of(space, id));

	return name ? text + name->text : NULL;
}

const char *names_of(const struct names *n, const struct trace *t, uint16_t space, uint32_t id)
{
	return names_in(n, t->text, space, id);
}

char *names_take(struct names *n)
{
	char *text = n->text;

	sort_unique(n);
	n->text = NULL;
	return text;
}

enum err_kind names_publish(struct names *n, struct trace *t, struct error *e)
{
	t->text = names_take(n);
	t->n_hooks = GST_HOOK_MAX + 1; /* the last one, without a name, stands for ids that cannot be */
	t->n_kernels = n->n_kernels + 1;
	t->hooks = array_new(t->n_hooks, sizeof(*t->hooks));
	t->kernels = array_new(t->n_kernels, sizeof(*t->kernels));
	t->entries = array_new(n->n + 1, sizeof(*t->entries));
	t->n_nccl_hooks = GST_NCCL_MAX + 1;
	t->communicates = array_new(t->n_kernels, sizeof(*t->communicates));
	t->nccl_hooks = array_new(t->n_nccl_hooks, sizeof(*t->nccl_hooks));
	if (!t->hooks || !t->kernels || !t->communicates || !t->entries || !t->nccl_hooks)
		return err_set(e, ERR_SYSTEM, t->path, ERR_NO_BYTE, "out of memory");
	t->kernels[0] = "";
	for (size_t i = 0; i < n->n_kernels; i++) {
		t->kernels[i + 1] = t->text + n->all[n->first_kernel + i].text;
		t->communicates[i + 1] = comm_kernel(t->kernels[i + 1]);
	}
	for (size_t i = 0; i < n->n; i++)
		if (n->all[i].key >> 32 == GST_SPACE_ENTRY)
			t->entries[t->n_entries++] = t->text + n->all[i].text;
	for (uint32_t id = 0; id < GST_HOOK_MAX; id++)
		t->hooks[id] = names_of(n, t, GST_SPACE_HOOK, id);
	for (uint32_t id = 0; id < GST_NCCL_MAX; id++)
		t->nccl_hooks[id] = names_of(n, t, GST_SPACE_NCCL, id);
	return ERR_NONE;
}

uint32_t names_kernel(const struct names *n, uint32_t id)
{
	const struct name *name = find_dense(n, n->first_kernel, n->n_kernels, key_of(GST_SPACE_KERNEL, id));

	return name ? (uint32_t)(name - n->all - (ptrdiff_t)n->first_kernel) + 1 : 0;
}

const char *names_file(const struct names *n, const struct trace *t, uint32_t id)
{
	return names_of(n, t, GST_SPACE_FILE, id);
}
