/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_memory.h: memory of the process that may be anything: a stack that somebody wrote over, an interpreter's that another thread frees
 * while we look. It is never read, the kernel is asked for it (as in peek.h, but many pages at once). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_PAGE 4096u
#define STACK_WINDOW_PAGES 3u

/* The last pages that were asked for. */
struct stack_window {
	uint64_t at;
	uint32_t bytes; /* 0: none */
	uint32_t pages; /* to ask for at a time, at most STACK_WINDOW_PAGES */
	uint8_t data[STACK_PAGE * STACK_WINDOW_PAGES];
};

/* False where the kernel does not answer such questions (a container's filter): then there are no stacks. */
bool stack_memory_works(void);

/* Exactly so many bytes, or false. */
bool stack_read(void *to, uint64_t from, size_t bytes);
/* n pieces of as many bytes each, one after another in `to`: how many of the first ones were read. */
unsigned stack_read_each(void *to, const uint64_t *from, unsigned n, size_t bytes);

struct stack_piece {
	uint64_t at;
	uint32_t bytes;
};
#define STACK_PIECES 64u

/* n pieces, STACK_PIECES at most, one after another in `to`, in one question: all of them, or false. */
bool stack_read_pieces(void *to, const struct stack_piece *pieces, unsigned n);

/* A text with its end; of a longer one `room` - 1 bytes of it. */
bool stack_read_text(char *to, uint64_t from, size_t room);

/* Through a window: of what was asked for before nothing is asked again. At most a page. */
bool stack_window_read(struct stack_window *w, void *to, uint64_t from, size_t bytes);
