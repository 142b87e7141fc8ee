/* SPDX-License-Identifier: BSD-2-Clause */
#include "gst_text.h"

#include "gst_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *word;
	void (*add)(struct parser *p);
} events[] = {
	{ "thread", text_thread },       { "segment", text_segment },
	{ "kept", text_kept },           { "drop", text_drop },
	{ "recycled", text_recycled },   { "device", text_device },
	{ "stream", text_stream },       { "entry", text_entry },
	{ "node", text_node },           { "depends", text_depends },
	{ "structure", text_structure }, { "edge", text_edge },
	{ "poll", text_poll },           { "busy", text_busy },
	{ "sample", text_sample },       { "usage", text_usage },
	{ "comm", text_comm },           { "nccl", text_nccl },
	{ "untracked", text_untracked }, { "activity", text_activity },
	{ "burst", text_burst },         { "level", text_level },
	{ "anchor", text_anchor },       { "block", text_block },
	{ "mapping", text_mapping },     { "pool-state", text_pool_state },
	{ "left", text_left },           { "range", text_range },
	{ "nvtx", text_nvtx },           { "object", text_object },
	{ "code", text_code },           { "stack", text_stack },
	{ "taken", text_taken },         { "stack-cost", text_stack_cost },
};

static void add_event(struct parser *p)
{
	const char *word = p->words[0];

	if (strcmp(word, "process") == 0) {
		text_process(p);
		return;
	}
	if (strcmp(word, "host") == 0) {
		text_probes(p);
		return;
	}
	if (!p->file) {
		p->bad = true;
		return;
	}
	if (strcmp(word, "unfinished") == 0) {
		p->unfinished = true;
		return;
	}
	if (text_probed(p))
		return;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (strcmp(word, events[i].word) == 0) {
			events[i].add(p);
			return;
		}
	}
	p->bad |= !text_call(p);
}

static bool parse_line(struct parser *p, char *line)
{
	char *save = NULL;

	line[strcspn(line, "#\n")] = '\0';
	p->n_words = 0;
	for (char *word = strtok_r(line, " \t", &save); word && p->n_words < WORDS; word = strtok_r(NULL, " \t", &save))
		p->words[p->n_words++] = word;
	p->bad = false;
	if (p->n_words)
		add_event(p);
	return !p->bad;
}

bool gst_text_parse(struct gst_text *out, const char *text, char error[256])
{
	struct parser *p = calloc(1, sizeof(*p));
	char *copy = strdup(text), *save = NULL;
	bool ok = p && copy;
	int number_of_line = 0;

	*out = (struct gst_text){ 0 };
	snprintf(error, 256, "out of memory");
	if (p)
		p->out = out;
	for (char *line = copy; ok && line; line = save) {
		char shown[120];

		save = strchr(line, '\n');
		if (save)
			*save++ = '\0';
		number_of_line++;
		snprintf(shown, sizeof(shown), "%s", line);
		ok = parse_line(p, line);
		if (!ok)
			snprintf(error, 256, "line %d: %s", number_of_line, shown);
	}
	free(p);
	free(copy);
	if (!ok)
		gst_text_free(out);
	return ok;
}

void gst_text_free(struct gst_text *t)
{
	for (size_t i = 0; i < t->n; i++)
		gst_image_free(&t->files[i].image);
	free(t->files);
	*t = (struct gst_text){ 0 };
}
