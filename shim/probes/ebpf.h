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
#define EBPF_SPARE 24

struct ebpf {
	struct host_bpf *programs;
	struct ring_buffer *ring;
	struct host_file *file;
	struct ebpf_names *names;
	struct gst_probes probes;
	unsigned n_spare; /* looks at all tasks, opened while that was allowed */
	int spare[EBPF_SPARE];
	uint64_t census_ns, census_every_ns; /* when it is to be seen next whether anybody lives */
	bool ended;       /* nobody does */
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
int ebpf_iterator(const struct ebpf *e); /* a look at all tasks, as yet to be taken; -1 errno */
/* 0: not measured, which costs everybody's programs: who wants it sets kernel.bpf_stats_enabled. */
uint64_t ebpf_kernel_ns(const struct ebpf *e);

/* ebpf_tree.c. The tree that is there: 0, or an errno. */
int ebpf_tree_find(struct ebpf *e);
/* Writes what goes on of it. */
void ebpf_tree_flush(struct ebpf *e);
/* Does none of it live, whatever was told of their ends? Looks about once a second. */
bool ebpf_tree_ended(struct ebpf *e);

/* ebpf_events.c: one event; ctx is a struct ebpf. */
int ebpf_event(void *ctx, void *event, size_t size);
