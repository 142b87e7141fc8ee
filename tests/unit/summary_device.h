/* SPDX-License-Identifier: BSD-2-Clause */
/* summary_device.h: the machine of summary_machine.h: its devices, simulated one operation after another in each stream, streams side by side. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ns.h"

#define EPOCH_NS 1000000000
#define DEVICES 3
#define PROCESSES 3
#define STREAMS 4
#define OPS 4000
#define US 1000

/* Owners of a busy nanosecond, the first before the others. */
enum part { KERNEL, COMM, H2D_PAGEABLE, H2D_PINNED, D2H, PEER, D2D, MEMSET, PARTS };

struct truth {
	int64_t begin, end; /* as in the analyzer: with EPOCH_NS */
	uint32_t device;    /* the physical one */
	enum part part;
};

struct lines {
	char *text;
	size_t n, room;
};

struct machine {
	uint64_t rng;
	bool measured; /* of the process that is being made */
	bool lossy;    /* some of it is not measured after all */
	bool probes, ranges;
	bool counter; /* times are a counter's, which anchors tell */
	uint32_t row; /* launches in a row, at most; then nothing holds streams up but the device; 0: one, and anything may */
	uint32_t n_devices, n_processes;
	struct truth ops[OPS];
	size_t n_ops;
	uint64_t strays;
	struct lines out, late; /* late: what another thread writes at the end */
	int64_t held[DEVICES];  /* by timing events between two operations: no record shows that */
	/* of this process */
	uint32_t pid, turn, n_streams, tid, step, edges;
	uint32_t base[DEVICES];
	int64_t now, last, step_begin;
	int64_t over[STREAMS]; /* when what was put into the stream is over */
	uint64_t seq[STREAMS];
	uint64_t marked[STREAMS];
};

static uint32_t random32(struct machine *m)
{
	m->rng ^= m->rng << 13;
	m->rng ^= m->rng >> 7;
	m->rng ^= m->rng << 17;
	return (uint32_t)(m->rng >> 16);
}

static int64_t between(struct machine *m, int64_t low, int64_t high)
{
	return low + (int64_t)(random32(m) % (uint64_t)(high - low + 1));
}

static bool one_in(struct machine *m, uint32_t n)
{
	return random32(m) % n == 0;
}

static void __attribute__((format(printf, 2, 3))) say(struct lines *out, const char *format, ...)
{
	va_list arguments;

	if (out->room - out->n < 1024) {
		out->room = out->room * 2 + 4096;
		out->text = realloc(out->text, out->room);
		assert_non_null(out->text);
	}
	va_start(arguments, format);
	out->n += (size_t)vsnprintf(out->text + out->n, out->room - out->n, format, arguments);
	va_end(arguments);
}

static uint32_t device_of(const struct machine *m, uint32_t s)
{
	return s % m->n_devices;
}

static void on_thread(struct machine *m, uint32_t tid)
{
	if (m->tid != tid)
		say(&m->out, "thread %u\n", tid);
	m->tid = tid;
}

/* Three decades, evenly. */
static int64_t duration(struct machine *m)
{
	int64_t low = 100;

	for (uint32_t k = random32(m) % 4; k > 0; k--)
		low *= 10;
	return between(m, low, low * 10);
}

/* ---- the device ---------------------------------------------------------------------------------------------- */

static void did(struct machine *m, uint32_t device, int64_t begin, int64_t end, enum part part, const char *words)
{
	assert_true(m->n_ops < OPS);
	m->ops[m->n_ops++] = (struct truth){ begin + EPOCH_NS, end + EPOCH_NS, device, part };
	m->last = max64(m->last, end);
	if (m->measured && !(m->lossy && strstr(words, "seq=") && one_in(m, 10)))
		say(&m->late, "activity t=%lldns..%lldns device=%u %s\n", (long long)begin, (long long)end,
		    (device + m->turn) % m->n_devices, words);
}

/* Puts one operation into the stream; what it is in words of an activity. */
static void operate(struct machine *m, uint32_t s, int64_t entry, enum part part, const char *what)
{
	int64_t begin = max64(entry + between(m, 1, 6 * US), m->over[s]), end = begin + duration(m);
	char words[160];

	snprintf(words, sizeof(words), "%s stream=%u seq=%llu", what, s + 1, (unsigned long long)m->seq[s]);
	did(m, device_of(m, s), begin, end, part, words);
	m->over[s] = end;
}

/* Work that nobody is known to have asked for. */
static void stray(struct machine *m)
{
	int64_t begin = m->now + between(m, 0, duration(m));

	if (!m->measured)
		return;
	did(m, random32(m) % m->n_devices, begin, begin + duration(m), KERNEL, "kernel=whose");
	m->strays++;
}
