/* SPDX-License-Identifier: BSD-2-Clause */
/* report_owners.h: who owned a gap: each piece of it with its cause, its evidence, its chain and what held the thread. */
#pragma once

#include "report_page.h"

/* The longest pieces, `most` of them, in the order of time; of the others how many they are and whose. stacks: with the stacks that are on record.
 * False: no memory. */
bool report_owners(const struct page *p, const struct gap_story *g, size_t most, bool stacks);
