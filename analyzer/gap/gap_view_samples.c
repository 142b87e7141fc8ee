/* SPDX-License-Identifier: BSD-2-Clause */
/* gap_view_samples.c: what samples say that the submitting thread did in its silences. */
#include "gap_view.h"

#include <string.h>

#include "futex_looks.h"
#include "tools/alloc.h"
#include "tools/ns.h"

/* A sample stands for at most this on either side; the recorder takes one every 10 ms at least. */
#define SAMPLE_REACH_NS 25000000

static enum doing doing_of(const struct sample *s, const struct syscall_name *name)
{
	if (s->syscall == SAMPLE_ON_CPU)
		return DOING_CPU;
	if (s->syscall == -2)
		return DOING_FAULT;
	switch (name ? name->kind : SYSCALL_OTHER) {
	case SYSCALL_READ:
	case SYSCALL_POLL:
		return DOING_READ;
	case SYSCALL_WRITE:
		return DOING_WRITE;
	case SYSCALL_FLUSH:
		return DOING_FLUSH;
	case SYSCALL_SLEEP:
		return DOING_SLEEP;
	case SYSCALL_FUTEX:
		return DOING_LOCK;
	case SYSCALL_OTHER:
		break;
	}
	return DOING_OTHER;
}

static bool same_file(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* One look at a thread in a page fault: what of its process was in the swap then. */
static void add_swapped(struct swapped *s, uint64_t bytes)
{
	uint64_t fell = s->looks && bytes < s->last_bytes ? s->last_bytes - bytes : 0;

	s->looks++;
	s->fell_bytes = s->fell_bytes > UINT64_MAX - fell ? UINT64_MAX : s->fell_bytes + fell;
	s->most_bytes = bytes > s->most_bytes ? bytes : s->most_bytes;
	s->last_bytes = bytes;
}

static bool add_activity(struct gap_view *v, struct silence *within, const struct sample *s, int64_t begin, int64_t end)
{
	const struct syscall_name *name = syscall_find(&v->trace->header, s->syscall);
	struct activity a = { .begin_ns = begin,
			      .end_ns = end,
			      .doing = doing_of(s, name),
			      .fd_kind = s->fd_kind,
			      .n_samples = 1,
			      .syscall = name ? name->name : NULL,
			      .number = s->syscall,
			      .file = s->file };
	struct activity *last = v->n_activities ? &v->activities[v->n_activities - 1] : NULL;

	if (end <= begin)
		return true;
	if (a.doing == DOING_LOCK)
		futex_look(v->trace, s, &a);
	else if (a.doing == DOING_FAULT)
		add_swapped(&within->swapped, s->arg);
	if (last && last->end_ns == begin && last->doing == a.doing && last->number == a.number &&
	    same_file(last->file, a.file)) {
		last->end_ns = end;
		last->n_samples++;
		futex_looks_join(last, &a);
		return true;
	}
	if (!array_room(v->activities, v->n_activities, v->cap_activities))
		return false;
	v->activities[v->n_activities++] = a;
	return true;
}

static bool sampled_before(const void *element, const void *key)
{
	return (*(const struct sample *const *)element)->time_ns < *(const int64_t *)key;
}

static size_t first_sample(const struct thread_records *r, int64_t ns)
{
	return array_first(r->samples, r->n_samples, sizeof(*r->samples), sampled_before, &ns);
}

/* A thread that reads from a pipe takes locks in between: those waits belong to the reading. */
static void join_locks(struct gap_view *v, size_t first)
{
	for (size_t i = first; i < v->n_activities; i++) {
		struct activity *a = &v->activities[i];
		const struct activity *next = i + 1 < v->n_activities ? a + 1 : NULL,
				      *previous = i > first ? a - 1 : NULL;
		const struct activity *peer = previous && previous->doing == DOING_READ ? previous
					      : next && next->doing == DOING_READ       ? next
											: NULL;

		if (a->doing != DOING_LOCK || futex_is_held(a) || !peer ||
		    (peer->fd_kind != GST_FD_PIPE && peer->fd_kind != GST_FD_SOCKET))
			continue;
		a->doing = DOING_READ;
		a->fd_kind = peer->fd_kind; /* it has no file of its own to be named */
	}
}

bool gap_view_add_activities(struct gap_view *v, const struct thread_records *r, struct silence *s)
{
	size_t first = v->n_activities;

	for (size_t i = first_sample(r, s->begin_ns); i < r->n_samples && r->samples[i]->time_ns < s->end_ns; i++) {
		int64_t at = r->samples[i]->time_ns, begin = max64(s->begin_ns, at - SAMPLE_REACH_NS),
			end = min64(s->end_ns, at + SAMPLE_REACH_NS);

		if (i > 0)
			begin = max64(begin, r->samples[i - 1]->time_ns + (at - r->samples[i - 1]->time_ns) / 2);
		if (i + 1 < r->n_samples)
			end = min64(end, at + (r->samples[i + 1]->time_ns - at) / 2);
		if (!add_activity(v, s, r->samples[i], max64(begin, v->gap->begin_ns), end))
			return false;
	}
	join_locks(v, first);
	return true;
}

static bool activity_is_over(const void *element, const void *key)
{
	return ((const struct activity *)element)->end_ns <= *(const int64_t *)key;
}

static bool activity_has_begun(const void *element, const void *key)
{
	return ((const struct activity *)element)->begin_ns < *(const int64_t *)key;
}

const struct activity *gap_view_activities(const struct gap_view *v, int64_t begin_ns, int64_t end_ns, size_t *n)
{
	size_t first = array_first(v->activities, v->n_activities, sizeof(*v->activities), activity_is_over, &begin_ns);
	size_t end = array_first(v->activities, v->n_activities, sizeof(*v->activities), activity_has_begun, &end_ns);

	*n = end > first ? end - first : 0;
	return *n ? v->activities + first : NULL;
}

static bool silence_is_over(const void *element, const void *key)
{
	return ((const struct silence *)element)->end_ns <= *(const int64_t *)key;
}

static bool silence_has_begun(const void *element, const void *key)
{
	return ((const struct silence *)element)->begin_ns < *(const int64_t *)key;
}

const struct silence *gap_view_silences(const struct gap_view *v, int64_t begin_ns, int64_t end_ns, size_t *n)
{
	size_t first = array_first(v->silences, v->n_silences, sizeof(*v->silences), silence_is_over, &begin_ns);
	size_t end = array_first(v->silences, v->n_silences, sizeof(*v->silences), silence_has_begun, &end_ns);

	*n = end > first ? end - first : 0;
	return *n ? v->silences + first : NULL;
}
