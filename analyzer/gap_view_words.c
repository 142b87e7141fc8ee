/* SPDX-License-Identifier: BSD-2-Clause */
/* gap_view_words.c: what is seen of a gap, in words. */
#include "gap_view.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "text.h"

const char *call_name(const struct trace *t, const struct call *c)
{
	const char *name = c->hook < t->n_hooks ? t->hooks[c->hook] : NULL;

	return name ? name : "a driver call";
}

void evidence_call(char *buf, size_t size, const struct trace *t, const struct call *c)
{
	char name[64], file[96], took[TEXT_SHORT];

	snprintf(buf, size, "%s took %s (%s byte %" PRIu64 ")", text_clean(name, sizeof(name), call_name(t, c), 48),
		 text_duration(took, c->end_ns - c->begin_ns),
		 text_clean(file, sizeof(file), text_base(t->path ? t->path : "trace"), 64), c->byte);
}

void evidence_activity(char *buf, size_t size, const struct activity *a)
{
	char file[160], number[24];
	const char *what = a->syscall;

	if (!what && a->number >= 0) {
		snprintf(number, sizeof(number), "system call %d", a->number);
		what = number;
	} else if (!what) {
		what = a->doing == DOING_CPU ? "on a CPU" : "blocked outside a system call";
	}
	if (a->file && a->fd_kind == GST_FD_FILE)
		snprintf(buf, size, "%zu sample%s: %s path=%s", a->n_samples, a->n_samples == 1 ? "" : "s", what,
			 text_clean(file, sizeof(file), a->file, 120));
	else
		snprintf(buf, size, "%zu sample%s: %s%s%s", a->n_samples, a->n_samples == 1 ? "" : "s", what,
			 a->file ? " " : "", a->file ? text_clean(file, sizeof(file), a->file, 120) : "");
}

void evidence_accounts(char *buf, size_t size, const char *prefix, const struct gap_view *v, int64_t begin_ns,
		       int64_t end_ns)
{
	size_t n;
	const struct silence *at = gap_view_silences(v, begin_ns, end_ns, &n), *longest = NULL;
	char of[TEXT_SHORT];

	*buf = 0;
	for (size_t i = 0; i < n; i++) {
		const struct silence *s = &at[i];

		if (s->before && s->after && s->after->cpu_ns >= s->before->cpu_ns &&
		    s->after->time_ns > s->before->time_ns &&
		    (!longest || s->end_ns - s->begin_ns > longest->end_ns - longest->begin_ns))
			longest = s;
	}
	if (longest)
		snprintf(buf, size, "%sthread %u was switched out %u times in %s, %u of them to wait", prefix, v->tid,
			 longest->after->voluntary - longest->before->voluntary + longest->after->involuntary -
				 longest->before->involuntary,
			 text_duration(of, longest->after->time_ns - longest->before->time_ns),
			 longest->after->voluntary - longest->before->voluntary);
}

void chain_submitter(struct finding *f, const struct gap_view *v, const char *format, ...)
{
	char state[128];
	va_list args;

	f->pid = v->trace ? v->trace->header.pid : 0;
	f->tid = v->tid;
	va_start(args, format);
	vsnprintf(state, sizeof(state), format, args);
	va_end(args);
	text_clean(f->words->state, sizeof(f->words->state), state, sizeof(f->words->state) - 1);
	f->n_chain = 1;
}
