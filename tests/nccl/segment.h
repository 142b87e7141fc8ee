/* SPDX-License-Identifier: BSD-2-Clause */
/* segment.h: the file that the ranks of a communicator map. Whoever comes first makes it, whoever comes last takes its name away.
 *
 *     head | one struct member for each rank | two lanes of channels, one for each pair of ranks | their rings
 *
 * A channel has one writer and one reader, and both only ever move on: no locks. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a unique id holds: where, and which. */
struct rendezvous {
	char magic[8];
	uint64_t number;
	char folder[112];
};

/* What a rank says in a split; two, as the fastest rank may be one split ahead of the slowest. */
struct offer {
	_Atomic uint64_t number; /* of the split; written last */
	int color, key;
};

struct member {
	_Atomic unsigned joined;
	int pid, device;
	unsigned char uuid[16];
	struct offer offers[2];
};

struct segment_head {
	_Atomic unsigned nranks; /* 0: not made yet */
	_Atomic unsigned present;
	_Atomic unsigned refused; /* somebody is wrong here: nobody goes on */
};

enum lane { LANE_COLLECTIVES, LANE_PAIRS, LANES };

struct channel {
	_Alignas(64) _Atomic uint64_t head; /* bytes written so far */
	_Alignas(64) _Atomic uint64_t tail; /* bytes read so far */
	_Atomic uint64_t taken_ns; /* when the kernel began that reads what is being read */
};

struct segment {
	struct segment_head *head; /* NULL: not mapped */
	size_t bytes;
	unsigned nranks;
	size_t ring_bytes;
};

void rendezvous_new(struct rendezvous *id);
void rendezvous_derive(struct rendezvous *id, const struct rendezvous *from, uint64_t number, uint64_t color);
uint64_t rendezvous_hash(const struct rendezvous *id);

bool segment_open(struct segment *s, const struct rendezvous *id, unsigned nranks); /* false: no file, or of other size */
void segment_unlink(const struct rendezvous *id);
void segment_close(struct segment *s);
struct member *segment_member(const struct segment *s, unsigned rank);
struct channel *segment_channel(const struct segment *s, enum lane lane, unsigned from, unsigned to);

/* As many of these bytes as there is room for, or as there are. */
size_t channel_write(const struct segment *s, enum lane lane, unsigned from, unsigned to, const void *data, size_t bytes);
size_t channel_read(const struct segment *s, enum lane lane, unsigned from, unsigned to, void *data, size_t bytes);
