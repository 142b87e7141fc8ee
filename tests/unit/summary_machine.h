/* SPDX-License-Identifier: BSD-2-Clause */
/* summary_machine.h: random runs as text (tests/support/gst_text.h), and what their devices truly did. Several processes share some devices,
 * each with streams and two threads; the devices are simulated one operation after another in each stream, streams side by side. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ns.h"

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

/* ---- calls ---------------------------------------------------------------------------------------------------- */

static int64_t spend(struct machine *m)
{
	int64_t entry = m->now;

	m->now += between(m, 300, 4 * US);
	return entry;
}

#define CALL(m, entry, ...)                                                                     \
	do {                                                                                    \
		say(&(m)->out, __VA_ARGS__);                                                    \
		say(&(m)->out, " t=%lldns..%lldns\n", (long long)(entry), (long long)(m)->now); \
		(m)->now += between((m), 1, one_in((m), 8) ? duration(m) : 900);                \
	} while (0)

/* What a record about a stream says of it; static text, for one call at a time. */
static const char *in_stream(const struct machine *m, uint32_t s, uint64_t seq)
{
	static char words[64];

	snprintf(words, sizeof(words), "stream=%u device=%u seq=%llu", s + 1,
		 (device_of(m, s) + m->turn) % m->n_devices, (unsigned long long)seq);
	return words;
}

/* A timing event of the recorder's. */
static void edge(struct machine *m, uint32_t s, const char *kind)
{
	int64_t held = between(m, 0, 900), entry = m->now, fired;
	uint32_t d = device_of(m, s);

	if (m->measured)
		return;
	m->now += between(m, 300, US);
	fired = max64(entry + between(m, 300, 6 * US), m->over[s] + held);
	m->over[s] = fired;
	m->held[d] += held;
	m->edges++;
	if (!m->base[d])
		m->base[d] = m->edges;
	say(&m->out,
	    "edge %u t=%lldns..%lldns stream=%u device=%u covers=%llu fired=%lldns done=%lldns base=%u kind=%s\n",
	    m->edges, (long long)entry, (long long)m->now, s + 1, (d + m->turn) % m->n_devices,
	    (unsigned long long)m->seq[s], (long long)fired, (long long)fired + 9000 * US, m->base[d], kind);
	m->marked[s] = m->seq[s];
	m->now += between(m, 1, 300);
}

static void mark(struct machine *m, uint32_t device)
{
	for (uint32_t s = 0; s < m->n_streams; s++)
		if (device_of(m, s) == device && m->marked[s] != m->seq[s])
			edge(m, s, "block");
}

static const struct {
	const char *name;
	bool communicates;
} kernels[] = { { "gemm", false },
		{ "ncclDevKernel_AllReduce_Sum_f32_RING_LL", true },
		{ "_ZN4vllm26cross_device_reduce_1stageIfLi8EEEvPf", true },
		{ "AllReduceLoss", false },
		{ "softmax", false },
		{ "elementwise", false } };

static void launch(struct machine *m, uint32_t s)
{
	uint32_t k = m->row && !one_in(m, 12) ? 0 : random32(m) % (sizeof(kernels) / sizeof(*kernels));
	bool inside = one_in(m, m->row ? 200 : 12), communicates = inside || kernels[k].communicates;
	int64_t entry, outer = m->now;
	char words[96];

	if (!m->measured && m->over[s] < m->now && m->marked[s] == m->seq[s] && one_in(m, 2))
		edge(m, s, "start");
	outer = m->now;
	m->now += inside ? between(m, 0, US) : 0;
	entry = spend(m);
	m->seq[s]++;
	snprintf(words, sizeof(words), "kernel=%s", kernels[k].name);
	operate(m, s, entry, communicates ? COMM : KERNEL, words);
	CALL(m, entry, "launch %s kernel=%s", in_stream(m, s, m->seq[s]), kernels[k].name);
	if (inside)
		CALL(m, outer, "nccl all-reduce comm=1 stream=%u seq=%u count=1024 type=float32 op=sum", s + 1,
		     m->step);
}

static const struct {
	const char *kind;
	enum part part;
} copies[] = { { "h2d-pageable", H2D_PAGEABLE },
	       { "h2d-pinned", H2D_PINNED },
	       { "d2h-pageable", D2H },
	       { "d2h-pinned", D2H },
	       { "d2d", D2D },
	       { "peer", PEER },
	       { "unknown", D2D } };

static void copy(struct machine *m, uint32_t s)
{
	uint32_t k = random32(m) % (sizeof(copies) / sizeof(*copies));
	bool waits = copies[k].part == D2H && one_in(m, 2);
	int64_t entry = m->now;
	char words[64];

	if (waits)
		mark(m, device_of(m, s));
	m->seq[s]++;
	snprintf(words, sizeof(words), "kind=copy copy=%s bytes=4096", copies[k].kind);
	operate(m, s, m->now, copies[k].part, words);
	spend(m);
	if (waits) {
		m->now = max64(m->now, m->over[s] + between(m, 500, 20 * US));
		m->marked[s] = m->seq[s];
	}
	CALL(m, entry, "copy %s kind=%s bytes=4096%s", in_stream(m, s, m->seq[s]), copies[k].kind,
	     waits ? " flags=blocking" : "");
}

static void set_memory(struct machine *m, uint32_t s)
{
	int64_t entry = spend(m);

	m->seq[s]++;
	operate(m, s, entry, MEMSET, "kind=memset bytes=512");
	CALL(m, entry, "memset %s bytes=512", in_stream(m, s, m->seq[s]));
}

/* A kernel, then a copy and a memset side by side, then a collective. */
static void graph(struct machine *m, uint32_t s)
{
	static const struct {
		const char *words;
		enum part part;
	} nodes[] = { { "node=11 kernel=first", KERNEL },
		      { "node=12 kind=copy copy=h2d-pinned bytes=64", H2D_PINNED },
		      { "node=13 kind=memset bytes=64", MEMSET },
		      { "node=14 kernel=ncclDevKernel_SendRecv", COMM } };
	int64_t entry = spend(m), at = max64(entry + between(m, 1, 6 * US), m->over[s]), over = at;
	char words[160];

	m->seq[s]++;
	for (int i = 0; i < 4; i++) {
		int64_t begin = i == 2 ? at : max64(over + between(m, 0, 900), at), end = begin + duration(m) / 4 + 1;

		snprintf(words, sizeof(words), "%s stream=%u seq=%llu", nodes[i].words, s + 1,
			 (unsigned long long)m->seq[s]);
		did(m, device_of(m, s), begin, end, nodes[i].part, words);
		at = i == 1 ? begin : at;
		over = max64(over, end);
	}
	m->over[s] = over;
	CALL(m, entry, "graph %s structure=1 exec=%u", in_stream(m, s, m->seq[s]),
	     9 + s); /* launches of one executable graph stand one behind the other */
}

/* Nothing of it is the device's work. */
static void host_function(struct machine *m, uint32_t s)
{
	int64_t entry, begin;

	edge(m, s, "before");
	entry = spend(m);
	begin = max64(entry + between(m, 1, 6 * US), m->over[s]);
	m->seq[s]++;
	m->over[s] = begin + duration(m);
	m->last = max64(m->last, m->over[s]);
	CALL(m, entry, "hostfn %s", in_stream(m, s, m->seq[s]));
	edge(m, s, "after");
}

/* Calls that put no work into a stream: captured, or refused. */
static void no_work(struct machine *m, uint32_t s)
{
	int64_t entry = spend(m);

	if (one_in(m, 2))
		CALL(m, entry, "launch %s kernel=gemm flags=captured", in_stream(m, s, 0));
	else
		CALL(m, entry, "launch stream=%u seq=%llu kernel=gemm result=1", s + 1,
		     (unsigned long long)++m->seq[s]);
}

static void synchronise(struct machine *m, uint32_t s)
{
	int64_t entry = m->now, over = m->over[s];

	mark(m, device_of(m, s));
	over = m->over[s];
	if (one_in(m, 4))
		for (uint32_t i = 0; i < m->n_streams; i++)
			over = device_of(m, i) == device_of(m, s) ? max64(over, m->over[i]) : over;
	else {
		m->now = max64(m->now + US, m->over[s] + between(m, 500, 20 * US));
		CALL(m, entry, "sync-stream %s", in_stream(m, s, m->seq[s]));
		return;
	}
	m->now = max64(m->now + US, over + between(m, 500, 20 * US));
	CALL(m, entry, "sync-context context=%u", 7 + device_of(m, s));
}

static void query(struct machine *m, uint32_t s)
{
	bool ready = m->over[s] <= m->now;
	int64_t entry = spend(m);

	CALL(m, entry, "query-stream %s result=%d", in_stream(m, s, m->seq[s]), ready ? 0 : 600);
}

static void wait_for(struct machine *m, uint32_t s, uint32_t other)
{
	int64_t entry = spend(m);

	if (s == other)
		return;
	CALL(m, entry, "record %s event=5", in_stream(m, other, m->seq[other]));
	m->over[s] = max64(m->over[s], m->over[other]);
	entry = spend(m);
	CALL(m, entry, "wait %s event=5", in_stream(m, s, m->seq[s]));
}

/* Driver calls that keep the host busy, of this thread or of the other one meanwhile. */
static void other_call(struct machine *m)
{
	static const char *const calls[] = { "alloc pointer=0x1000 bytes=4096",
					     "free pointer=0x1000",
					     "module",
					     "pool",
					     "host-alloc pointer=0x2000 bytes=64",
					     "other",
					     "vmm",
					     "event" };
	const char *what = calls[random32(m) % 8];
	int64_t entry = m->now;

	m->now += duration(m);
	CALL(m, entry, "%s", what);
}

/* A range is written when it is popped. */
static void end_step(struct machine *m)
{
	if (!m->ranges || !m->step)
		return;
	on_thread(m, m->pid);
	say(&m->out, "range step~ number=%u level=1 t=%lldns..%lldns\n", m->step, (long long)m->step_begin,
	    (long long)m->now);
}

static void next_step(struct machine *m)
{
	end_step(m);
	m->now += between(m, 1, 50 * US);
	m->step++;
	m->step_begin = m->now++;
}

static void act(struct machine *m)
{
	uint32_t s = random32(m) % m->n_streams;

	on_thread(m, m->pid + (m->ranges ? 0 : random32(m) % 2));
	switch (random32(m) % 24) {
	case 0:
	case 1:
	case 2:
		synchronise(m, s);
		break;
	case 3:
	case 4:
	case 5:
		copy(m, s);
		break;
	case 6:
	case 7:
		set_memory(m, s);
		break;
	case 8:
		if (!m->row)
			host_function(m, s);
		break;
	case 9:
	case 10:
		graph(m, s);
		break;
	case 11:
		no_work(m, s);
		break;
	case 12:
		query(m, s);
		break;
	case 13:
		wait_for(m, s, random32(m) % m->n_streams);
		break;
	case 14:
		other_call(m);
		break;
	case 15:
		m->now += duration(m);
		break;
	case 16:
		stray(m);
		break;
	case 17:
		say(&m->out, "sample t=%lldns syscall=%d state=%c fd=%s file=/data/x\n", (long long)m->now,
		    (int)between(m, -1, 3), one_in(m, 2) ? 'S' : 'R', one_in(m, 2) ? "file" : "pipe");
		break;
	default:
		for (uint32_t n = m->row ? 1 + random32(m) % m->row : 1; n > 0; n--)
			launch(m, s);
		break;
	}
}

/* ---- host probes: what they say needs to be no truth ------------------------------------------------------------ */

static void one_wait(struct machine *m, uint32_t tid, int64_t begin, int64_t end)
{
	static const char *const what[] = {
		"syscall=202 arg=0x7f00",
		"syscall=0 fd=pipe file=pipe:[7] inode=7",
		"syscall=17 file=/data/a fd=file inode=42 dev=3 offset=4096 bytes=65536 flags=disk",
		"syscall=1 file=/ckpt fd=file inode=43 dev=3 offset=0 bytes=2097152",
		"syscall=230",
		"flags=fault,anonymous",
		"flags=preempted",
		"flags=reclaim",
		"syscall=74 file=/ckpt fd=file inode=43 dev=3",
		"syscall=7 fd=socket"
	};

	say(&m->out, "wait %u t=%lldns..%lldns %s", tid, (long long)begin, (long long)end, what[random32(m) % 10]);
	if (one_in(m, 2))
		say(&m->out, " waker=%u", m->pid + (uint32_t)between(m, 0, 3));
	else if (one_in(m, 3))
		say(&m->out, " by=%s", one_in(m, 2) ? "interrupt" : "timer");
	if (one_in(m, 2))
		say(&m->out, " wake=%lldns", (long long)between(m, begin, end));
	say(&m->out, "%s\n", one_in(m, 6) ? " throttled=900ns" : "");
}

static void watch(struct machine *m, uint32_t pid)
{
	m->pid = pid;
	say(&m->out, "host %u end=%lldns%s\ntask %u t=0us flags=root,there name=python3\n", pid,
	    (long long)m->last + 1000 * US, one_in(m, 8) ? " lost=1" : "", pid);
	for (uint32_t k = 1; k <= 3; k++)
		say(&m->out, "task %u pid=%u t=%uus creator=%u name=%s\n", pid + k, k < 2 ? pid : pid + k, 1 + k, pid,
		    k == 3 ? "cc1" : "loader");
	for (uint32_t k = 0; k <= 3; k++)
		for (int64_t at = 10 * US; at < m->last && m->out.n < 60000;) {
			int64_t end = at + between(m, 200, 1 + m->last / 8);

			if (one_in(m, 5))
				say(&m->out, "stalls %u t=%lldns..%lldns count=3 blocked=%lldns\n", pid + k,
				    (long long)at, (long long)end, (long long)(end - at) / 2);
			else
				one_wait(m, pid + k, at, end);
			at = end + (one_in(m, 12) ? -between(m, 0, end - at) : between(m, 0, 1 + m->last / 10));
		}
}

/* ---- a whole run -------------------------------------------------------------------------------------------------- */

static void begin_process(struct machine *m, uint32_t number, uint64_t seed, bool measured)
{
	m->measured = measured;
	m->pid = 100 * (number + 1);
	m->turn = number;
	m->tid = m->step = m->edges = 0;
	m->n_streams = 1 + (uint32_t)((seed / 3 + number) % STREAMS);
	m->now = between(m, 1, 50 * US);
	memset(m->base, 0, sizeof(m->base));
	memset(m->over, 0, sizeof(m->over));
	memset(m->seq, 0, sizeof(m->seq));
	memset(m->marked, 0, sizeof(m->marked));
	m->late.n = 0;
	/* the end is not known yet: its place is filled in later */
	say(&m->out, "process %u level=%s exited=1 end=__________us%s\nthread %u main\nthread %u\n", m->pid,
	    measured ? "cupti" : "edges", m->counter ? " clock=tsc" : "", m->pid, m->pid + 1);
	for (uint32_t d = 0; d < m->n_devices; d++)
		say(&m->out, "device %u uuid=%u\n", (d + m->turn) % m->n_devices, d + 1);
	for (uint32_t s = 0; s < m->n_streams; s++)
		say(&m->out, "stream %u device=%u context=%u\n", s + 1, (device_of(m, s) + m->turn) % m->n_devices,
		    7 + device_of(m, s));
	say(&m->out,
	    "comm 1 t=1us hash=0x5a rank=0 size=2\n"
	    "node 1 handle=11 kernel=first\nnode 1 handle=12 type=copy kind=h2d-pinned bytes=64\n"
	    "node 1 handle=13 type=memset bytes=64\nnode 1 handle=14 kernel=ncclDevKernel_SendRecv\n"
	    "depends 1 from=11 to=12\ndepends 1 from=11 to=13\ndepends 1 from=12 to=14\ndepends 1 from=13 to=14\n"
	    "structure 1 t=1us\n");
	m->tid = m->pid + 1;
}

static void end_process(struct machine *m, size_t from)
{
	char digits[32];

	m->last = max64(m->last, m->now);
	snprintf(digits, sizeof(digits), "%010lld", (long long)m->last / US + 20);
	memcpy(strstr(m->out.text + from, "__________"), digits, 10);
	if (m->late.n)
		say(&m->out, "thread %u helper\n", m->pid + 90);
	for (size_t at = 0, n; at < m->late.n; at += n + 1) {
		n = (size_t)(strchr(m->late.text + at, '\n') - (m->late.text + at));
		say(&m->out, "%.*s\n", (int)n, m->late.text + at);
	}
}

static void play_process(struct machine *m, uint32_t number, uint64_t seed, bool measured)
{
	size_t from = m->out.n, acts = 2 + random32(m) % 24;

	begin_process(m, number, seed, measured);
	for (size_t i = 0; i < acts; i++) {
		if (m->ranges && i % 5 == 2)
			next_step(m);
		if (m->counter && one_in(m, 3))
			say(&m->out, "anchor t=%lldns mono=%lldns\n", (long long)m->now,
			    (long long)(m->now + m->now / 3000));
		act(m);
	}
	launch(m, random32(m) % m->n_streams);
	for (uint32_t s = 0; s < m->n_streams; s++)
		synchronise(m, s);
	end_step(m);
	end_process(m, from);
}

static struct machine *machine_play(struct machine *m, uint64_t seed, uint32_t n_processes, uint32_t measured)
{
	m->rng = (seed + 1) * 0x9e3779b97f4a7c15u;
	m->n_processes = n_processes;
	m->n_devices = 1 + (uint32_t)(seed / 2 % DEVICES);
	m->probes = seed % 3 == 0;
	m->ranges = seed % 4 == 1;
	for (uint32_t i = 0; i < n_processes; i++)
		play_process(m, i, seed, i < measured);
	for (uint32_t i = 0; m->probes && i < n_processes; i++)
		watch(m, 100 * (i + 1));
	return m;
}

/* measured: how many of the processes have their work measured; lossy: not all of it. */
static inline struct machine *machine_run(uint64_t seed, uint32_t n_processes, uint32_t measured, bool lossy)
{
	struct machine *m = calloc(1, sizeof(*m));

	m->lossy = lossy;
	return machine_play(m, seed, n_processes, measured);
}

/* One process that launches up to `row` kernels in a row; none of its work is measured. */
static inline struct machine *machine_run_rows(uint64_t seed, uint32_t row)
{
	struct machine *m = calloc(1, sizeof(*m));

	m->row = row;
	m->counter = seed % 3 == 1;
	return machine_play(m, seed, 1, 0);
}

static void machine_free(struct machine *m)
{
	free(m->out.text);
	free(m->late.text);
	free(m);
}
