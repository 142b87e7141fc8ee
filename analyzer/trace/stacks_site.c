/* SPDX-License-Identifier: BSD-2-Clause */
/* stacks_site.c: where each kernel is launched from: the first launch seen from a place has its stack. */
#include "trace.h"

#include <stdlib.h>

#include "tools/alloc.h"

#define SEVERAL (GST_NONE - 1)
#define AT_ONCE 1024 /* calls that can begin at one instant: a thread makes one at a time */

static bool begun_before(const void *element, const void *key)
{
	return ((const struct call *)element)->begin_ns < *(const int64_t *)key;
}

static const struct call *launch_of(const struct trace *t, const struct stack_at *a)
{
	size_t i = array_first(t->calls, t->n_calls, sizeof(*t->calls), begun_before, &a->begin_ns);

	for (size_t n = 0; n < AT_ONCE && i < t->n_calls && t->calls[i].begin_ns == a->begin_ns; i++, n++)
		if (t->calls[i].tid == a->tid && t->calls[i].family == GST_FAMILY_LAUNCH && t->calls[i].name)
			return &t->calls[i];
	return NULL;
}

bool stacks_find_sites(struct trace *t)
{
	struct stacks *s = &t->stacks;

	s->launch_sites = array_new(t->n_kernels, sizeof(*s->launch_sites));
	if (!s->launch_sites)
		return false;
	s->n_sites = t->n_kernels;
	for (size_t i = 0; i < s->n_sites; i++)
		s->launch_sites[i] = GST_NONE;
	for (size_t i = 0; i < s->n_taken; i++) {
		const struct call *c = s->taken[i].why == GST_STACK_SITE ? launch_of(t, &s->taken[i]) : NULL;
		uint32_t *site = c && c->name < s->n_sites ? &s->launch_sites[c->name] : NULL;

		if (c)
			s->taken[i].kernel = c->name;
		if (site)
			*site = *site == GST_NONE || *site == s->taken[i].stack ? s->taken[i].stack : SEVERAL;
	}
	for (size_t i = 0; i < s->n_sites; i++)
		if (s->launch_sites[i] == SEVERAL)
			s->launch_sites[i] = GST_NONE;
	return true;
}

uint32_t stacks_launch(const struct trace *t, const struct call *c)
{
	const struct stacks *s = &t->stacks;

	return c && c->family == GST_FAMILY_LAUNCH && c->name < s->n_sites ? s->launch_sites[c->name] : GST_NONE;
}
