/* SPDX-License-Identifier: BSD-2-Clause */
/* export_walk_nvtx.c: each thread's NVTX ranges, on a track beside its driver calls. The category is Kineto's for what users annotate. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export_walk.h"
#include "tools/text.h"

#define NAME_BYTES 320

static void payload(struct walk *w, const struct range *r)
{
	double d;
	float f;

	switch (r->payload_kind) {
	case 1:
	case 4:
		if (r->payload <= INT64_MAX)
			arg_int(w, "payload", (int64_t)r->payload);
		break;
	case 2:
		arg_int(w, "payload", (int64_t)r->payload);
		break;
	case 3:
		memcpy(&d, &r->payload, sizeof(d));
		w->sink->arg_double(w->to, "payload", d);
		break;
	case 5:
		arg_int(w, "payload", (int32_t)r->payload);
		break;
	case 6:
		memcpy(&f, &r->payload, sizeof(f));
		w->sink->arg_double(w->to, "payload", (double)f);
		break;
	}
}

static void text(struct walk *w, const char *key, const char *value)
{
	char clean[512];

	if (value)
		arg_text(w, key, text_clean(clean, sizeof(clean), value, sizeof(clean) - 4));
}

static void range(struct walk *w, size_t process, const struct range *r)
{
	const struct trace *t = w->s->run->traces[process];
	bool open = r->end_ns == INT64_MAX;
	int64_t begin = r->begin_ns, end = open ? t->end_ns : r->end_ns;
	char whole[1024], name[NAME_BYTES], track[48];
	uint32_t tid;

	end = end > begin ? end : begin;
	snprintf(track, sizeof(track), "thread %u: NVTX", r->tid);
	tid = place(w, t->ranges, r->tid, w->trace_pid[process], TID_NVTX + r->tid % TID_NCCL, track, true, &begin,
		    &end);
	if (w->failed)
		return;
	slice_begin(w, "user_annotation",
		    text_clean(name, sizeof(name), range_name(whole, sizeof(whole), r), NAME_BYTES - 8),
		    w->trace_pid[process], tid, begin, end);
	text(w, "domain", r->domain);
	text(w, "category", r->category);
	text(w, "details", r->details);
	payload(w, r);
	if (r->ended_by != r->tid)
		arg_int(w, "ended by thread", r->ended_by);
	if (open)
		arg_int(w, "not ended", 1);
	slice_end(w);
}

void nvtx_ranges(struct walk *w, size_t process)
{
	const struct trace *t = w->s->run->traces[process];

	for (size_t i = 0; i < t->n_ranges && !w->failed; i++) {
		if (wanted(w, t->ranges[i].begin_ns, t->ranges[i].end_ns))
			range(w, process, &t->ranges[i]);
		else
			w->left_out++;
	}
}
