/* SPDX-License-Identifier: BSD-2-Clause */
#include "futex_looks.h"

#include "alloc.h"

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

/* They have the very time of the look. */
void futex_look(const struct trace *t, const struct sample *s, struct activity *out)
{
	size_t i = array_first(t->samples, t->n_samples, sizeof(*t->samples), sampled_before, &s->time_ns), end = i;

	for (; end < t->n_samples && end - i < OTHERS_MAX && t->samples[end].time_ns == s->time_ns; end++) {
		const struct sample *other = &t->samples[end];

		if (other->tid == s->tid)
			continue;
		if (other->syscall == -1) {
			out->n_ran = 1;
			out->ran = other->tid;
		} else if (waits_for_data(t, other)) {
			out->n_fed = 1;
			out->fed = other->tid;
		}
	}
	if (out->n_ran)
		out->n_fed = 0;
}

void futex_looks_join(struct activity *into, const struct activity *more)
{
	into->n_ran += more->n_ran;
	into->n_fed += more->n_fed;
	into->ran = more->n_ran ? more->ran : into->ran;
	into->fed = more->n_fed ? more->fed : into->fed;
}

bool futex_is_held(const struct activity *a)
{
	return a->doing == DOING_LOCK && a->n_ran * 2 > a->n_samples;
}

bool futex_is_fed(const struct activity *a)
{
	return a->doing == DOING_LOCK && a->n_fed * 2 > a->n_samples;
}
