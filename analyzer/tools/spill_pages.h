/* SPDX-License-Identifier: BSD-2-Clause */
/* spill_pages.h: memory of large arrays. To get a page from the kernel takes longer than to fill it, so those of an array that is freed are kept for the
 * next one, KEEP bytes of them at most, and none while little is in use. For one caller at a time (spill.c has the lock). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pages {
	char *at; /* NULL: none */
	size_t bytes;
	size_t room;     /* addresses right behind it that are its own, without memory; */
	size_t open;     /* … the first so many of them may be used */
	uint32_t origin; /* a mapping of the kernel's, which only its own neighbours can join again */
};

struct pages_fresh { /* what is to be done with new pages, which takes long: without the lock, before they are used */
	char *at;
	size_t bytes; /* 0: nothing */
	bool zero;    /* they are of an earlier array, and have to be zeroes */
};

struct pages_gone {
	char *at;
	size_t bytes;
};

/* That many bytes or a few more, zeroed when *fresh is readied. grows: it will. False: no memory. */
bool pages_new(struct pages *p, size_t bytes, bool grows, struct pages_fresh *fresh);
/* They may move; what is new in them is of any value. False: no memory, and they are as they were. */
bool pages_grow(struct pages *p, size_t bytes, struct pages_fresh *fresh);
/* What is left to be unmapped, which takes long: without the lock; at NULL: nothing, it is kept. */
struct pages_gone pages_free(struct pages *p);
/* For any caller at any time. */
void pages_ready(const struct pages_fresh *fresh);
void pages_take(const void *at, size_t bytes); /* at once, of any memory; what they hold stays */
/* Unmaps them, side by side (pool.h); at NULL: nothing. Also without the lock. */
void pages_drop(struct pages_gone gone);
void pages_drop_all(struct pages_gone *gone, size_t n);

/* Bytes that are kept. */
uint64_t pages_kept(void);
/* Nothing is, any more: what was is the caller's to drop; how many they are. */
#define PAGES_SPARES 16
size_t pages_leave(struct pages_gone gone[PAGES_SPARES]);
/* … and is unmapped, with the lock. */
void pages_give_back(void);
/* As if nothing were kept: of a child that has none of it. */
void pages_forget(void);
/* madvise, of them all. */
void pages_advise_kept(int advice);
