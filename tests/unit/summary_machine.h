/* SPDX-License-Identifier: BSD-2-Clause */
/* summary_machine.h: random runs as text (tests/support/gst_text.h), and what their devices truly did. Several processes share some devices,
 * each with streams and two threads. */
#pragma once

#include "tests/unit/summary_calls.h"

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
