/* SPDX-License-Identifier: BSD-2-Clause */
/* spill.h: the arrays of which there is an element for each record. While they fit into a share of the machine's memory they lie there;
 * what grows beyond lies in a file without a name, in $TMPDIR or /var/tmp, which the kernel may write out and read back as it needs memory:
 * so the analysis of a recording of any length goes on in bounded memory, only slower. Where there is no such file (a full disk, a folder in
 * memory) they lie in memory all the same.
 *
 * The share is two thirds of what is available when the first large array comes, within the memory limit of the control group too;
 * GPUSHIM_MEMORY_MB says another number; 0: even small ones lie in files. */
#pragma once

#include <sys/types.h>

#include "alloc.h"

/* A new file without a name in $TMPDIR or /var/tmp, or, where there is none, in memory. -1: errno. */
int spill_file(void);

/* Like array_new and array_grow. */
void *spill_new(size_t n, size_t size);
void *spill_grow(void *array, size_t *cap, size_t size);
/* Also what array_new, array_grow or malloc made. */
void spill_free(void *array);
/* What is kept of arrays that are gone, for others. */
void spill_give_back(void);

/* fork, for a child that reads a few things and ends: of large arrays in memory it has those that spill_new_shared made, and no other. So the parent's pages
 * are not listed for it, and the parent, which goes on to write to them, has no fault for each. The child may
 * make new ones, and free none that it has not made. */
pid_t spill_fork(void);
/* Of any value. Its pages come one by one as they are used, or many at a time: spill_ready. */
void *spill_new_shared(size_t bytes);
void spill_ready(const void *at, size_t bytes);

/* Like array_room. */
#define spill_room(array, n, cap)                                                                              \
	({                                                                                                     \
		void *spill_new_ = (n) < (cap) ? (array) : spill_grow((array), &(cap), sizeof *(array));       \
		if (spill_new_)                                                                                \
			(array) = spill_new_;                                                                  \
		spill_new_ != NULL;                                                                            \
	})
