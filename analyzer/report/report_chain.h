/* SPDX-License-Identifier: BSD-2-Clause */
/* report_chain.h: how a chain reads: level by level, or in one line. */
#pragma once

#include "report_page.h"

/* One line for each thread, deeper from level to level. */
void report_chain(const struct page *p, const struct gap_cause *c);
/* "thread 12 in futex <- python3[15] in read pipe:[7] <- python3[19] in pread64 .../train.tar"; "" where it is one thread's affair. */
void report_chain_line(char *buf, size_t size, const struct gap_cause *c, bool utf8);
/* "futex <- read <- futex <- pread64 train.tar": the same for so many columns: with its threads, or what each was at, or the last of these, or the
 * leaf alone, which may be longer. */
void report_chain_short(char *buf, size_t size, const struct gap_cause *c, bool utf8, unsigned columns);
