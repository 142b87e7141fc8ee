/* SPDX-License-Identifier: BSD-2-Clause */
/* gap_view_words.c: what is seen of a gap, in words. */
#include "gap_view_ops.h"

#include <stdarg.h>
#include <stdio.h>

#include "import/import.h"
#include "tools/text.h"
#include "tools/text_put.h"

const char *call_name(const struct trace *t, const struct call *c)
{
	const char *name = c->hook < t->n_hooks ? t->hooks[c->hook] : NULL;

	return name ? name : "a driver call";
}

void evidence_call(char *buf, size_t size, const struct trace *t, const struct call *c)
{
	struct text_put p = text_put_begin(buf, size);
	char place[PLACE_TEXT];

	put_clean(&p, call_name(t, c), 64, 48);
	put_text(&p, " took ");
	put_duration(&p, c->end_ns - c->begin_ns);
	put_text(&p, " (");
	put_clean(&p, text_base(t->path ? t->path : "trace"), 96, 64);
	if (t->imported && IMPORT_IS_ROW(c->byte)) {
		put_text(&p, " ");
		put_text(&p, import_place_text(place, sizeof(place), t, c->byte));
	} else { /* of millions of gaps */
		put_text(&p, " byte ");
		put_uint(&p, c->byte);
	}
	put_text(&p, ")");
}

void evidence_activity(char *buf, size_t size, const struct trace *t, const struct activity *a)
{
	char file[160], number[24];
	const char *what = a->syscall;

	if (a->op) {
		evidence_op(buf, size, t, a->op);
		return;
	}
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

	va_start(args, format);
	vsnprintf(state, sizeof(state), format, args);
	va_end(args);
	chain_submitter_in(f, v, "", state);
}

void chain_submitter_in(struct finding *f, const struct gap_view *v, const char *what, const char *where)
{
	char state[128];
	struct text_put p = text_put_begin(state, sizeof(state));

	f->pid = v->trace ? v->trace->header.pid : 0;
	f->tid = v->tid;
	f->n_chain = 1;
	put_text(&p, what);
	put_text(&p, where);
	text_clean(f->words->state, sizeof(f->words->state), state, sizeof(f->words->state) - 1);
}
