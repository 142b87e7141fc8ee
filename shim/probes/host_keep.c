/* SPDX-License-Identifier: BSD-2-Clause */
#include "host_keep.h"

#include <stdlib.h>
#include <string.h>

#include "../layout.h"

/* More than a segment has ends and births of tasks: a power of two. */
#define PLACES 32768u

struct life { /* of a task, in the segment */
	uint32_t tid;
	uint32_t place_used;
	uint32_t born;  /* number of the record that says so first, from 1; 0 none */
	uint32_t ended; /* … of the last that says it ended */
};

struct host_keep {
	struct host_names *names;
	uint64_t seq;
	uint32_t at; /* number of the record that is looked at */
	struct host_given_up gone;
	bool (*put)(const struct gst_record *r, void *arg);
	void *arg;
	struct life lives[PLACES];
};

struct host_keep *host_keep_new(struct host_names *names)
{
	struct host_keep *k = calloc(1, sizeof(*k));

	if (k)
		k->names = names;
	return k;
}

void host_keep_free(struct host_keep *k)
{
	free(k);
}

static struct life *life_of(struct host_keep *k, uint32_t tid)
{
	uint32_t i = (tid * 0x9e3779b1u) >> 17;

	while (k->lives[i].place_used && k->lives[i].tid != tid)
		i = (i + 1) % PLACES;
	k->lives[i].tid = tid;
	k->lives[i].place_used = 1;
	return &k->lives[i];
}

static bool is_birth(const struct gst_record *r)
{
	return r->type == GST_TASK && !(((const struct gst_task *)r)->flags & GST_TASK_EXEC);
}

static void look(const struct gst_record *r, void *arg)
{
	struct host_keep *k = arg;

	k->at++;
	if (is_birth(r)) {
		struct life *life = life_of(k, ((const struct gst_task *)r)->tid);

		life->born = life->born ? life->born : k->at;
	} else if (r->type == GST_TASK_END) {
		life_of(k, ((const struct gst_task_end *)r)->tid)->ended = k->at;
	}
}

static bool goes_on(struct host_keep *k, uint32_t tid)
{
	return life_of(k, tid)->ended < k->at;
}

/* Of a task whose beginning is in an older segment, and was kept: without its end it would be on a CPU for ever. */
static bool began_before(struct host_keep *k, uint32_t tid)
{
	const struct life *life = life_of(k, tid);

	return !life->born || life->born > k->at;
}

static bool wants(struct host_keep *k, const struct gst_record *r)
{
	const struct gst_name *name = (const struct gst_name *)r;

	switch (r->type) {
	case GST_PROBES:
		return true;
	case GST_NAME:
		return host_names_needs(k->names, name->id, name->text, name->length, k->seq);
	case GST_TASK:
		return goes_on(k, ((const struct gst_task *)r)->tid);
	case GST_TASK_END:
		return began_before(k, ((const struct gst_task_end *)r)->tid);
	case GST_PIPE_END:
		return goes_on(k, ((const struct gst_pipe_end *)r)->pid);
	default:
		return false;
	}
}

static void copy(const struct gst_record *r, void *arg)
{
	const struct gst_name *name = (const struct gst_name *)r;
	struct host_keep *k = arg;

	k->at++;
	k->gone.records += !gst_host_is_definition(r->type);
	if (!wants(k, r) || k->put(r, k->arg))
		return;
	k->gone.lost++;
	if (r->type == GST_NAME)
		host_names_forget(k->names, name->id, name->text, name->length);
}

struct host_given_up host_keep_copy(struct host_keep *k, const uint8_t *segment, uint64_t seq,
				    bool (*put)(const struct gst_record *r, void *arg), void *arg)
{
	k->seq = seq;
	k->gone = (struct host_given_up){ 0 };
	k->put = put;
	k->arg = arg;
	memset(k->lives, 0, sizeof(k->lives));
	k->at = 0;
	layout_each_record(segment, look, k);
	k->at = 0;
	layout_each_record(segment, copy, k);
	return k->gone;
}
