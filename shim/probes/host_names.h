/* SPDX-License-Identifier: BSD-2-Clause */
/* host_names.h: which name has which id, and since when it was not asked for. Names that nobody asked for in long are forgotten with the
 * segment that holds their record; ids are never used again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct host_names;

struct host_names *host_names_new(void);
void host_names_free(struct host_names *n);

/* The id of this text, asked for while segment number `seq` is written. 0: it is new, see host_names_add. */
uint32_t host_names_find(struct host_names *n, const char *text, uint32_t length, uint64_t seq);
/* A new id. 0: no memory. */
uint32_t host_names_add(struct host_names *n, const char *text, uint32_t length, uint64_t seq);

/* The next segment is begun: the record that the last name was asked for may be its first. */
void host_names_next(struct host_names *n, uint64_t seq);

/* The record of this name in segment number `seq` is given up. True: a later segment may need it. False: nobody does, and it is forgotten. */
bool host_names_needs(struct host_names *n, uint32_t id, const char *text, uint32_t length, uint64_t seq);
/* Its record could not be written, or kept: it is new when it is asked for again. */
void host_names_forget(struct host_names *n, uint32_t id, const char *text, uint32_t length);
