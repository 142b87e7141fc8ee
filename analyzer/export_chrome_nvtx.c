/* SPDX-License-Identifier: BSD-2-Clause */
/* export_chrome_nvtx.c: each thread's NVTX ranges, on a track beside its driver calls. The category is Kineto's for what users annotate. */
#include <inttypes.h>
#include <string.h>

#include "export_chrome_event.h"
#include "text.h"

#define NAME_BYTES 320

static void payload(struct json *j, const struct range *r)
{
	double d;
	float f;

	switch (r->payload_kind) {
	case 1:
	case 4:
		if (r->payload <= INT64_MAX)
			json_key_int(j, "payload", (int64_t)r->payload);
		break;
	case 2:
		json_key_int(j, "payload", (int64_t)r->payload);
		break;
	case 3:
		memcpy(&d, &r->payload, sizeof(d));
		json_key_double(j, "payload", d);
		break;
	case 5:
		json_key_int(j, "payload", (int32_t)r->payload);
		break;
	case 6:
		memcpy(&f, &r->payload, sizeof(f));
		json_key_double(j, "payload", (double)f);
		break;
	}
}

static void text(struct json *j, const char *key, const char *value)
{
	char clean[512];

	if (value)
		json_key_text(j, key, text_clean(clean, sizeof(clean), value, sizeof(clean) - 4));
}

static void range(struct chrome *x, size_t process, const struct range *r)
{
	const struct trace *t = x->s->run->traces[process];
	bool open = r->end_ns == INT64_MAX;
	int64_t begin = r->begin_ns, end = open ? t->end_ns : r->end_ns;
	char whole[1024], name[NAME_BYTES], track[48];
	uint32_t tid;

	end = end > begin ? end : begin;
	snprintf(track, sizeof(track), "thread %u: NVTX", r->tid);
	tid = place(x, t->ranges, r->tid, x->trace_pid[process], TID_NVTX + r->tid % TID_NCCL, track, true, &begin,
		    &end);
	if (x->failed)
		return;
	slice_begin(x, "user_annotation",
		    text_clean(name, sizeof(name), range_name(whole, sizeof(whole), r), NAME_BYTES - 8),
		    x->trace_pid[process], tid, begin, end);
	text(&x->json, "domain", r->domain);
	text(&x->json, "category", r->category);
	text(&x->json, "details", r->details);
	payload(&x->json, r);
	if (r->ended_by != r->tid)
		json_key_int(&x->json, "ended by thread", r->ended_by);
	if (open)
		json_key_int(&x->json, "not ended", 1);
	slice_end(x);
}

void nvtx_ranges(struct chrome *x, size_t process)
{
	const struct trace *t = x->s->run->traces[process];

	for (size_t i = 0; i < t->n_ranges && !x->failed; i++) {
		if (wanted(x, t->ranges[i].begin_ns, t->ranges[i].end_ns))
			range(x, process, &t->ranges[i]);
		else
			x->left_out++;
	}
}
