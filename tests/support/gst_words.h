/* SPDX-License-Identifier: BSD-2-Clause */
/* gst_words.h: a line of a text trace as words, for the files gst_text_*.c that make records of them. Internal to tests/support. */
#pragma once

#include "gst_text.h"

#define EPOCH_NS 1000000000ull /* time 0 of the text on CLOCK_MONOTONIC */
#define WORDS 24
#define NAMES 512
#define EDGES 4096
#define GRAPHS 64

struct parser {
	struct gst_text *out;
	struct gst_text_file *file;
	char *words[WORDS]; /* of this line: the event, then key=value */
	int n_words;
	bool unfinished;
	bool bad; /* a word that could not be read */
	double drift;
	uint32_t tid;
	uint32_t thread_segment[NAMES], thread_id[NAMES]; /* last segment of each thread */
	size_t n_threads;
	char names[NAMES][128]; /* written already, with their space in front */
	size_t n_names;
	double fired_ms[EDGES]; /* on the device's clock */
	uint32_t first_edge;
	struct gst_graph graphs[GRAPHS]; /* what was written of each structure so far */
};

/* ---- words; a word that cannot be read makes the line bad ---- */

const char *word_value(const struct parser *p, const char *key); /* of key=value; NULL: not there */
uint64_t word_number(struct parser *p, const char *key, uint64_t otherwise);
uint64_t word_duration(struct parser *p, const char *key, uint64_t otherwise);
uint64_t word_instant(struct parser *p, const char *key);         /* 0: not there */
void word_span(struct parser *p, uint64_t *begin, uint64_t *end); /* t=begin..end, or t=at */
/* The position of a text in a list that ends with NULL. */
uint32_t word_choice(struct parser *p, const char *text, const char *const *list, uint32_t otherwise);
bool word_flag(const struct parser *p, const char *flag); /* among flags= */

extern const char *const word_copy_kinds[]; /* enum gst_copy_kind */

/* ---- records ---- */

void record_add(struct parser *p, uint16_t type, const void *record, size_t size);
/* The id of a name; its record is written when it is first used. Ids of all spaces share one count. */
uint32_t record_name(struct parser *p, uint16_t space, const char *text);

/* ---- lines: each is one event of gst_text.h ---- */

/* gst_text_process.c: a file, its threads, what its counters say */
struct gst_file_header *text_file(struct parser *p, const char *ending); /* a new one, to be sealed; NULL: the line is bad */
void text_process(struct parser *p);
void text_thread(struct parser *p);
void text_segment(struct parser *p);
void text_kept(struct parser *p);
void text_drop(struct parser *p);
void text_untracked(struct parser *p);
void text_recycled(struct parser *p);
void text_anchor(struct parser *p);
void text_device(struct parser *p); /* gst_text_things.c: what records refer to */
void text_stream(struct parser *p);
void text_entry(struct parser *p);
bool text_call(struct parser *p); /* gst_text_call.c: driver calls; false: the word names none */
void text_node(struct parser *p); /* gst_text_graph.c */
void text_depends(struct parser *p);
void text_structure(struct parser *p);
void text_edge(struct parser *p); /* gst_text_device.c: what the device did */
void text_burst(struct parser *p);
void text_poll(struct parser *p);
void text_activity(struct parser *p);
void text_level(struct parser *p);
void text_busy(struct parser *p);
void text_sample(struct parser *p); /* gst_text_host.c: what the host did */
void text_usage(struct parser *p);
void text_comm(struct parser *p); /* gst_text_nccl.c */
void text_nccl(struct parser *p);
void text_range(struct parser *p); /* gst_text_nvtx.c */
void text_nvtx(struct parser *p);
void text_object(struct parser *p); /* gst_text_stack.c */
void text_code(struct parser *p);
void text_stack(struct parser *p);
void text_taken(struct parser *p);
void text_stack_cost(struct parser *p);
void text_block(struct parser *p); /* gst_text_memory.c */
void text_mapping(struct parser *p);
void text_pool_state(struct parser *p);
void text_left(struct parser *p);
void text_probes(struct parser *p); /* gst_text_probes.c: a file of host probes, */
bool text_probed(struct parser *p); /* … and its records; false: the word names none */
