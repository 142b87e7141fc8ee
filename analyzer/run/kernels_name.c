/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernels_name.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"
#include "tools/alloc.h"

/* Processes of one run have most kernels in common: each name is read once. */
struct names {
	struct demangled *at; /* sorted */
	size_t n, cap;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct demangled *)a)->mangled, ((const struct demangled *)b)->mangled);
}

static bool collect(struct names *names, const struct run *run)
{
	size_t kept = 0;

	for (size_t i = 0; i < run->n_traces; i++)
		for (size_t k = 1; k < run->traces[i]->n_kernels; k++) {
			if (!demangle_is_mangled(run->traces[i]->kernels[k]))
				continue;
			if (!array_room(names->at, names->n, names->cap))
				return false;
			names->at[names->n++] = (struct demangled){ .mangled = run->traces[i]->kernels[k] };
		}
	array_sort(names->at, names->n, sizeof(*names->at), by_name);
	for (size_t i = 0; i < names->n; i++)
		if (kept == 0 || by_name(&names->at[kept - 1], &names->at[i]) != 0)
			names->at[kept++] = names->at[i];
	names->n = kept;
	return true;
}

static bool give(const struct names *names, struct trace *t)
{
	free(t->kernel_titles);
	t->kernel_titles = array_new(t->n_kernels, sizeof(*t->kernel_titles));
	for (size_t i = 0; t->kernel_titles && i < t->n_kernels; i++) {
		const struct demangled key = { .mangled = t->kernels[i] };
		const struct demangled *found =
			names->n && demangle_is_mangled(key.mangled)
				? bsearch(&key, names->at, names->n, sizeof(*names->at), by_name)
				: NULL;

		t->kernel_titles[i] = found && found->readable ? found->readable : t->kernels[i];
	}
	return t->kernel_titles != NULL;
}

enum err_kind kernels_name(const struct run *run, struct error *e)
{
	struct names names = { 0 };
	enum err_kind kind = ERR_NONE;
	bool ok = collect(&names, run);

	if (ok && names.n) /* the texts live with the first process's stacks, and so with the run */
		kind = demangle_all(names.at, names.n, &run->traces[0]->stacks.arena, e);
	for (size_t i = 0; ok && !kind && i < run->n_traces; i++)
		ok = give(&names, run->traces[i]);
	free(names.at);
	return kind || ok ? kind : err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
}
