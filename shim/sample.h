/* SPDX-License-Identifier: BSD-2-Clause */
/* sample.h: what a thread that makes no driver call is doing, from /proc: no privilege needed, half a microsecond a look. A thread of ours
 * does nothing else, so that it can have a table of descriptors of its own; the helper, which makes driver calls, cannot. */
#pragma once

#include <stdint.h>

#define SAMPLE_NS_MIN 1000000ull
#define SAMPLE_NS_MAX 20000000ull

/* How long after the last look the next is due, for a silence that has lasted this many ticks: a sixteenth of it. A long silence
 * is then known as finely as a short one, for a fraction of the looks. */
uint64_t sample_interval_ns(uint64_t silent_ticks);

/* Starts the thread that looks at the others, which is ready then. The helper thread's alone. */
void samples_begin(void);

/* Has a GST_SAMPLE written for each thread that has put work into a stream, has made no driver call for silence_ticks, and is due.
 * The helper thread's alone. */
void samples_ask(uint64_t silence_ticks);

/* After fork, in the child. */
void samples_forget(void);
