/* SPDX-License-Identifier: BSD-2-Clause */
/* nvtx_text.h: texts that the program says through NVTX: names of ranges, domains, categories, payload schemas. Each is kept once, in
 * memory of ours, and written to the file when a record first refers to it; so a text that was said before there was a file, or in the
 * parent of a fork, is there too. Without locks, from any thread or signal handler; bounded: a text that finds no place is counted,
 * and its ranges have no name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

struct thread;

#define NVTX_TEXT_BYTES 512 /* what is longer is cut; nothing is read beyond that, nor beyond its end */
#define NVTX_TEXTS 8192     /* power of two */

/* A name whose last digits are kept apart, so that "step 1", "step 2" … are one text. */
struct nvtx_name {
	uint32_t text; /* 0 none */
	uint32_t number;
	bool numbered;
};

/* The number of this text, 0: no place for it. */
uint32_t nvtx_text(const char *text, size_t length);
/* NULL has no name. */
uint32_t nvtx_text_ascii(const char *text);
uint32_t nvtx_text_wide(const wchar_t *text);
struct nvtx_name nvtx_name_ascii(const char *text);
struct nvtx_name nvtx_name_wide(const wchar_t *text);

/* So much of the text as goes into `size` bytes; how much that is. No terminator. */
size_t nvtx_text_copy(char *to, size_t size, uint32_t text);

/* A name as a handle that is no address: never NULL. And back; nonsense has no name. */
void *nvtx_name_handle(struct nvtx_name name);
struct nvtx_name nvtx_name_of(const void *handle);

/* Writes the text to the file unless it is there. here: the thread may be in the middle of another append (ring_append_here). */
void nvtx_text_write(struct thread *t, uint32_t text, bool here);

/* Something found no place in a table of NVTX's. */
void nvtx_untracked(void);
