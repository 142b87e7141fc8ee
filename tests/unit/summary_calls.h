/* SPDX-License-Identifier: BSD-2-Clause */
/* summary_calls.h: what a process of summary_machine.h does next, at random: its calls, and what they put on the device. */
#pragma once

#include "tests/unit/summary_device.h"

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
