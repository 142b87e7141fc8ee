/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_run_comms.c: what was asked for of NCCL in streams of a device, by its kind: how many a step has, and how many bytes they move. So a step that
 * sends more is told from one whose peers are late. A call is of the step in which it began. */
#include "diff_run.h"

#include <stdio.h>

#include "diff_keep.h"
#include "tools/alloc.h"

static bool moves(const struct nccl_call *c)
{
	return nccl_took(c) && !(c->flags & GST_NCCL_OURS) && (nccl_is_collective(c->kind) || nccl_is_message(c->kind));
}

/* Of one process on the device. */
struct asked {
	const struct rank_member *member;
	bool alone; /* it has work on no other device: what names no stream is this one's */
};

static bool is_alone(const struct ranks *r, const struct rank_member *m)
{
	size_t devices = 0;

	for (size_t i = 0; i < r->n_members; i++)
		devices += r->members[i].trace == m->trace;
	return devices == 1;
}

static bool is_here(const struct asked *a, const struct nccl_call *c)
{
	const struct trace *t = a->member->trace;

	return c->stream == GST_NONE ? a->alone : t->streams[c->stream].device == a->member->ordinal;
}

static void count(struct diff_kernel kinds[GST_NCCL_KIND_COUNT], const struct asked *a, struct diff_window w)
{
	const struct trace *t = a->member->trace;

	for (size_t i = 0; i < t->n_nccl; i++) {
		const struct nccl_call *c = &t->nccl[i];

		if (!moves(c) || !is_here(a, c) || !diff_window_has(&w, c->begin_ns))
			continue;
		kinds[c->kind].per_step++;
		kinds[c->kind].bytes_per_step += (double)nccl_bytes(c);
	}
}

/* "collective all_reduce", "message send". NULL: no memory. */
static const char *label(struct diff_run *out, uint8_t kind)
{
	char words[64];

	snprintf(words, sizeof(words), "%s %s", nccl_is_collective(kind) ? "collective" : "message",
		 nccl_kind_name(kind));
	return diff_keep_text(&out->texts, words);
}

static bool publish(struct diff_run *out, struct diff_run_device *d, const struct diff_kernel kinds[], double steps)
{
	struct diff_kernel list[GST_NCCL_KIND_COUNT];
	size_t n = 0;

	for (uint8_t kind = 0; kind < GST_NCCL_KIND_COUNT; kind++) {
		if (kinds[kind].per_step <= 0)
			continue;
		list[n] = (struct diff_kernel){ .name = label(out, kind),
						.per_step = kinds[kind].per_step / steps,
						.bytes_per_step = kinds[kind].bytes_per_step / steps };
		if (!list[n++].name)
			return false;
	}
	d->comms = diff_keep_list(&out->texts, list, n, sizeof(*list));
	d->n_comms = d->comms ? n : 0;
	d->has_comms = true;
	return d->comms != NULL;
}

enum err_kind diff_run_add_comms(struct diff_run *out, struct diff_run_device *d, const struct summary *s,
				 const struct summary_device *of, struct diff_window w, struct error *e)
{
	struct diff_kernel kinds[GST_NCCL_KIND_COUNT] = { 0 };

	for (size_t i = 0; i < s->ranks.n_members; i++) {
		const struct asked a = { &s->ranks.members[i], is_alone(&s->ranks, &s->ranks.members[i]) };

		if (a.member->device == (size_t)(of - s->devices))
			count(kinds, &a, w);
	}
	return publish(out, d, kinds, w.n ? (double)w.n : 1) ? ERR_NONE : err_no_memory(e, out->path);
}
