/* SPDX-License-Identifier: BSD-2-Clause */
#include "futex_looks.h"

#include "tools/alloc.h"

#define ON_CPU (-1)
#define OTHERS_MAX 64 /* the recorder looks at an eighth of that; a damaged file may say anything */

static bool sampled_before(const void *element, const void *key)
{
	return ((const struct sample *)element)->time_ns < *(const int64_t *)key;
}

static bool waits_for_data(const struct trace *t, const struct sample *s)
{
	const struct syscall_name *name = syscall_find(&t->header, s->syscall);

	return name && (name->kind == SYSCALL_READ || name->kind == SYSCALL_POLL) &&
	       (s->fd_kind == GST_FD_PIPE || s->fd_kind == GST_FD_SOCKET);
}

/* They have the very time of the look. Where the lock says who has it nobody else counts. */
void futex_look(const struct trace *t, const struct sample *s, struct activity *out)
{
	size_t i = array_first(t->samples, t->n_samples, sizeof(*t->samples), sampled_before, &s->time_ns), end = i;
	const struct sample *holder = NULL, *fed = NULL, *beside = NULL;

	for (; end < t->n_samples && end - i < OTHERS_MAX && t->samples[end].time_ns == s->time_ns; end++) {
		const struct sample *other = &t->samples[end];

		if (other->tid == s->tid)
			continue;
		if (other->holds)
			holder = other;
		else if (other->syscall == ON_CPU)
			beside = other;
		else if (waits_for_data(t, other))
			fed = other;
	}
	if (holder) {
		beside = NULL;
		fed = waits_for_data(t, holder) ? holder : NULL;
	}
	out->n_held = holder && holder->syscall == ON_CPU;
	out->holder = out->n_held ? holder->tid : 0;
	out->n_beside = beside != NULL;
	out->beside = beside ? beside->tid : 0;
	out->n_fed = fed && !beside;
	out->fed = out->n_fed ? fed->tid : 0;
}

static void join(size_t *n, uint32_t *who, size_t more, uint32_t whom)
{
	*n += more;
	*who = more ? whom : *who;
}

void futex_looks_join(struct activity *into, const struct activity *more)
{
	join(&into->n_held, &into->holder, more->n_held, more->holder);
	join(&into->n_fed, &into->fed, more->n_fed, more->fed);
	join(&into->n_beside, &into->beside, more->n_beside, more->beside);
}

static bool is_most(const struct activity *a, size_t looks)
{
	return a->doing == DOING_LOCK && looks * 2 > a->n_samples;
}

bool futex_is_held(const struct activity *a)
{
	return is_most(a, a->n_held);
}

bool futex_is_fed(const struct activity *a)
{
	return is_most(a, a->n_fed);
}

bool futex_has_beside(const struct activity *a)
{
	return is_most(a, a->n_beside);
}
