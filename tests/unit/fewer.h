/* SPDX-License-Identifier: BSD-2-Clause */
/* fewer.h: how often a test repeats what goes on by chance, or byte by byte. Sanitizers and emulators take 5 to 15 times as long, and all of it runs without
 * them as well: scripts/sanitize.sh and scripts/ci-aarch64.sh say by how much less (-DFEWER_BY=n). */
#pragma once

#ifndef FEWER_BY
#define FEWER_BY 1
#endif
#define FEWER(times) (((times) + FEWER_BY - 1) / FEWER_BY)
