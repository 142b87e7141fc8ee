/* SPDX-License-Identifier: BSD-2-Clause */
/* sample.h: what a thread that makes no driver call is doing, from /proc: no privilege needed, half a microsecond a look. */
#pragma once

#include "ring.h"

/* Writes a GST_SAMPLE for each thread that has put work into a stream and has made no driver call for silence_ticks; each
 * about every millisecond, after 50 ms of silence every ten. The helper thread's alone. */
void sample_silent_threads(struct ring *r, uint64_t silence_ticks);
