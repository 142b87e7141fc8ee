/* SPDX-License-Identifier: BSD-2-Clause */
/* end_table.h: which process holds which ends of a pipe or socket now: by process and inode, and by inode alone. As many as there is room for,
 * each found at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define END_TABLE_MAX 65536u /* all processes' together */

struct end_table;

/* NULL: no memory. */
struct end_table *end_table_new(void);
void end_table_free(struct end_table *t);

enum end_news { END_KNOWN, END_NEW, END_NO_ROOM };

/* That process has these ends (enum gst_pipe_end_flags) of it. list: what that process holds, 0 at first; round: of looking at the process. */
enum end_news end_table_learn(struct end_table *t, uint32_t *list, uint32_t pid, uint64_t inode, uint16_t ends, uint32_t round);
/* Forgets what of the list was not learnt in this round: it is closed. */
void end_table_keep(struct end_table *t, uint32_t *list, uint32_t round);
void end_table_forget(struct end_table *t, uint32_t *list);
/* The ends that anybody holds. */
uint16_t end_table_held(const struct end_table *t, uint64_t inode);
size_t end_table_count(const struct end_table *t);
