/* SPDX-License-Identifier: BSD-2-Clause */
/* report_words.h: sentences about one file, as `info` says them, and what they are made of. */
#pragma once

#include "report_page.h"

struct words { /* being said */
	const struct page *page;
	const struct trace *t;
	const char *label; /* of the next sentence; "" once one has it */
	bool any;
};

void words_say(struct words *w, enum ink ink, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* What is analysed of it: from, until. */
int64_t words_from_ns(const struct trace *t);
int64_t words_until_ns(const struct trace *t);
/* "2026-11-21 10:12:01 UTC", as long as `day` is NULL; of a time like that on the same day, the time alone. */
char *words_time_of_day(char buf[64], const struct trace *t, int64_t ns, const char *day);
/* The same in a sentence, where the head has said which zone it is. Within two seconds that says nothing: then since its begin. */
const char *words_moment(char buf[64], const struct trace *t, int64_t ns);
/* "1 call", "2,000 calls" */
const char *words_number(char buf[48], uint64_t n, const char *one, const char *many);
/* "NVTX ranges", or what the tool of the trace calls what the program named. */
const char *words_ranges(const struct trace *t);
/* "a timing event": by what a boundary is known (enum boundary). */
const char *words_boundary(uint8_t known_by);
/* The program's threads that made calls: the recorder's own make none. */
uint64_t words_calling_threads(const struct trace *t);

/* One paragraph each: "lost", "trust". */
void words_lost(struct words *w);
void words_trust(struct words *w);
