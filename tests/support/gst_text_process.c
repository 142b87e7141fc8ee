/* SPDX-License-Identifier: BSD-2-Clause */
#include "gst_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gst_file_header *text_file(struct parser *p, const char *ending)
{
	struct gst_text_file *bigger = realloc(p->out->files, (p->out->n + 1) * sizeof(*bigger));
	struct gst_file_header *h;
	const char *host = word_value(p, "host"), *run = word_value(p, "run"), *command = word_value(p, "command");

	if (bigger)
		p->out->files = bigger;
	if (!bigger || p->n_words < 2 || !gst_image_new(&bigger[p->out->n].image)) {
		p->bad = true;
		return NULL;
	}
	p->file = &bigger[p->out->n++];
	p->n_names = p->n_threads = 0;
	h = gst_image_header(&p->file->image);
	h->pid = (uint32_t)strtoul(p->words[1], NULL, 0);
	h->start_ticks = h->start_mono_ns = EPOCH_NS + word_duration(p, "start", 0);
	h->process_start_mono_ns = h->start_mono_ns - 10000000;
	h->start_real_ns = word_duration(p, "real", 0);
	h->pid_ns = word_number(p, "pid-ns", 0);
	p->file->image.last_ticks = h->start_ticks;
	if (host)
		snprintf(h->host, sizeof(h->host), "%s", host);
	if (command)
		snprintf(h->cmdline, sizeof(h->cmdline), "%s", command);
	if (run)
		snprintf(h->run_id, sizeof(h->run_id), "%s", run);
	snprintf(p->file->name, sizeof(p->file->name), "%s-%u%s", h->host, h->pid, ending);
	gst_image_counters(&p->file->image)->last_ticks = word_instant(p, "end");
	return h;
}

void text_process(struct parser *p)
{
	static const char *const levels[] = { "", "host", "edges", "bursts", "cupti", NULL };
	struct gst_file_header *h = text_file(p, ".gst");

	if (!h)
		return;
	p->first_edge = 0;
	p->drift = (double)word_number(p, "drift", 20) * 1e-6;
	memset(p->graphs, 0, sizeof(p->graphs));
	if (word_value(p, "clock"))
		h->clock = strcmp(word_value(p, "clock"), "tsc") == 0 ? GST_CLOCK_TSC : GST_CLOCK_MONOTONIC;
	h->device_level = word_choice(p, word_value(p, "level"), levels, GST_LEVEL_EDGES);
	gst_image_seal(&p->file->image);
	gst_image_counters(&p->file->image)->exited = word_number(p, "exited", 0);
}

static void new_segment(struct parser *p, const char *name)
{
	struct gst_segment_header more = { .previous = GST_NONE };
	size_t i = 0;

	while (i < p->n_threads && p->thread_id[i] != p->tid)
		i++;
	more.recycles = (uint32_t)word_number(p, "recycles", 0);
	more.thread_seq = (uint32_t)word_number(p, "number", 0);
	if (i == NAMES || !gst_image_segment_as(&p->file->image, p->tid, name ? name : "thread", &more)) {
		p->bad = true;
		return;
	}
	p->thread_id[i] = p->tid;
	p->thread_segment[i] = p->file->image.segment;
	if (i == p->n_threads)
		p->n_threads++;
}

void text_thread(struct parser *p)
{
	p->tid = p->n_words > 1 ? (uint32_t)strtoul(p->words[1], NULL, 0) : 0;
	for (size_t i = 0; i < p->n_threads; i++) {
		if (p->thread_id[i] == p->tid) {
			gst_image_select(&p->file->image, p->thread_segment[i]);
			return;
		}
	}
	new_segment(p, p->n_words > 2 ? p->words[2] : NULL);
}

void text_segment(struct parser *p)
{
	new_segment(p, NULL);
}

/* `kept`: a segment for copies; `kept segment=0 recycles=1`: what follows was copied from that one. */
void text_kept(struct parser *p)
{
	const struct gst_segment_header more = { .previous = GST_NONE, .flags = GST_SEGMENT_KEPT };
	struct gst_kept r = { .segment = (uint32_t)word_number(p, "segment", 0),
			      .recycles = (uint32_t)word_number(p, "recycles", 0) };

	if (p->n_words > 1)
		record_add(p, GST_KEPT, &r, sizeof(r));
	else
		p->bad |= !gst_image_segment_as(&p->file->image, 0, "", &more);
}

void text_recycled(struct parser *p)
{
	struct gst_counters *c = gst_image_counters(&p->file->image);

	c->recycled_until = word_instant(p, "until");
	c->segments_recycled = word_number(p, "segments", 1);
	c->records_recycled = word_number(p, "records", 4000);
	c->calls_recycled = word_number(p, "calls", 3900);
	c->definitions_lost = word_number(p, "lost", 0);
	c->limit_bytes = word_number(p, "limit", 1ull << 31);
	c->drop_errno = word_number(p, "errno", 0);
	gst_image_header(&p->file->image)->version = GST_VERSION_RECYCLED;
	gst_image_seal(&p->file->image);
}

/* A tick is as long as a nanosecond; what CLOCK_MONOTONIC makes of it is for the anchors to say. */
void text_anchor(struct parser *p)
{
	struct gst_anchor r = { .width_ticks = (uint32_t)word_number(p, "width", 0) };
	uint64_t end;

	word_span(p, &r.ticks, &end);
	r.mono_ns = word_value(p, "mono") ? word_instant(p, "mono") : r.ticks;
	record_add(p, GST_ANCHOR, &r, sizeof(r));
}

void text_untracked(struct parser *p)
{
	struct gst_counters *c = gst_image_counters(&p->file->image);

	c->names_untracked = word_number(p, "names", 0);
	c->streams_untracked = word_number(p, "streams", 0);
	c->graphs_untracked = word_number(p, "graphs", 0);
	c->nccl_untracked = word_number(p, "nccl", 0);
	c->nvtx_untracked = word_number(p, "nvtx", 0);
}

void text_drop(struct parser *p)
{
	struct gst_counters *c = gst_image_counters(&p->file->image);

	c->records_dropped = p->n_words > 1 ? strtoull(p->words[1], NULL, 0) : 1;
	c->drop_first_ticks = word_instant(p, "first");
	c->drop_last_ticks = word_instant(p, "last");
	c->drop_errno = word_number(p, "errno", 0);
	c->dropped_disk = word_number(p, "disk", 0);
	c->dropped_limit = word_number(p, "limit", 0);
	c->activities_dropped = word_number(p, "activities", 0);
	c->dropped_busy = word_number(p, "busy", 0);
}
