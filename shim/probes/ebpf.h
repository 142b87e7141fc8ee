/* SPDX-License-Identifier: BSD-2-Clause */
/* ebpf.h: the collector's side of the eBPF probes: load and attach, then turn events into records. */
#pragma once

#include <stdbool.h>

#include "backend.h"
#include "ebpf_event.h"
#include "ebpf_names.h"

struct host_bpf;    /* the programs, as bpftool wraps them */
struct bpf_link;    /* libbpf's */
struct ring_buffer;

#define EBPF_CPUS 1024 /* whose samples are taken */

struct ebpf {
	struct host_bpf *programs;
	struct ring_buffer *ring;
	struct host_file *file;
	struct ebpf_names *names;
	struct gst_probes probes;
	int flush_fd;  /* reading it writes what is pending; opened while that was allowed; -1 not yet */
	unsigned n_samples;
	struct bpf_link *samples[EBPF_CPUS];
	uint64_t lost_told;
};

/* Could it be loaded here, by this process? Nothing is attached. why: what is missing, one line. In builds without eBPF as well. */
bool ebpf_can(char why[256]);

/* ebpf_load.c. False: why says what is missing; ebpf_unload takes what is there. After ebpf_attach no privilege is needed any more. */
bool ebpf_load(struct ebpf *e, const struct probes_settings *s, char why[256]);
bool ebpf_attach(struct ebpf *e, const struct probes_settings *s, char why[256]);
void ebpf_unload(struct ebpf *e);
struct ebpf_state *ebpf_state(const struct ebpf *e);
int ebpf_events_fd(const struct ebpf *e);
int ebpf_iterate(int fd); /* 0, or -1 with errno; closes fd */
/* 0: not measured, which costs everybody's programs: who wants it sets kernel.bpf_stats_enabled. */
uint64_t ebpf_kernel_ns(const struct ebpf *e);

/* ebpf_events.c: one event; ctx is a struct ebpf. */
int ebpf_event(void *ctx, void *event, size_t size);
