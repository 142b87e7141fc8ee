/* SPDX-License-Identifier: BSD-2-Clause */
/* import_build.h: the facts of import_facts.h -> one struct trace for each process. Importers take it as it is handed to them; import.c and tests
 * make it and finish it.
 *
 * While facts come in they lie in the arrays of the trace itself, and the builder holds nothing of them twice:
 *
 *   call.seq, measured.seq    the correlation, until calls and work are linked (import_link.c)
 *   call.stream               index into import_process.said, GST_NONE: it did not say one
 *   call.name                 GST_NONE nothing; measured.name, host_op.name, range.id: numbers of import_names, until import_publish.c
 *   range.payload             number of its domain
 *   comm.library_name         number of its name */
#pragma once

#include "import_facts.h"
#include "import_names.h"
#include "tools/error.h"
#include "tools/hash_index.h"
#include "trace/trace.h"

struct import_said { /* a stream as calls name it: mostly without its context */
	uint64_t stream, context; /* 0: not known … */
	uint32_t device;          /* … then that, or IMPORT_NO_DEVICE */
};

/* Contexts that are not known are one for each device, and none that a file could name. */
#define IMPORT_MADE_UP (1ull << 63)

struct import_process {
	uint64_t pid;    /* as the file has it … */
	uint32_t number; /* … and as it is shown, when all are there */
	struct trace *t;
	size_t calls, measured, streams, devices, threads, ranges, host_ops; /* capacities */
	struct import_collective *collectives; /* until import_collectives.c makes comms and NCCL calls of them */
	size_t n_collectives, cap_collectives;
	uint32_t *nccl_names; /* trace.nccl_hooks, as numbers of names; then one whose name is lost */
	size_t n_nccl_names, cap_nccl_names;
	struct import_said *said;
	size_t n_said, cap_said;
	struct hash_index by_said, by_stream, by_device, by_thread;
	uint32_t last_thread, last_stream; /* indexes: most facts are about the same as the one before */
	int64_t first_ns, last_ns;         /* of all its facts; none: INT64_MAX, INT64_MIN */
	uint32_t rank, ranks;              /* GST_NONE not said */
	uint32_t command;                  /* number of a name */
};

#define IMPORT_WARNINGS 16 /* kept; the others are counted */

struct import_build {
	char *path;
	const char *tool; /* "kineto", "nsys" */
	struct import_names names;
	struct import_process *processes;
	size_t n, cap;
	struct hash_index by_pid;
	char *warnings[IMPORT_WARNINGS];
	size_t n_warnings, warnings_left_out;
	uint64_t lost, left_out, work_left_out; /* of left_out: work, without which what looks idle may have been busy */
	size_t n_devices; /* of all processes */
	int64_t epoch_ns;
	uint32_t host; /* number of a name */
	int64_t cut_ns; /* of import_cut; INT64_MAX none */
	int64_t last_work_ns; /* when the last work of all processes began; INT64_MAX none. In the end */
	struct import_used *used; size_t n_used; /* import_publish.c's */
	bool no_memory, too_many, too_many_devices;
};

/* NULL: no memory. tool lives on. */
struct import_build *import_build_new(const char *path, const char *tool);
void import_build_free(struct import_build *b);

/* Makes the traces, by pid; processes without any fact are none. damage: as the importer left it, or NULL. The builder is empty then, and still to be
 * freed. */
enum err_kind import_build_finish(struct trace ***out, size_t *n, struct import_build *b, const struct error *damage, struct error *e);

/* ---- its parts: false is no memory ---- */

/* Index in the threads of the trace; it is there, or there is no memory (UINT32_MAX). */
uint32_t import_thread_index(struct import_build *b, struct import_process *p, uint32_t tid);
uint64_t import_hash(uint64_t a, uint64_t b);
/* Streams that calls name become indexes into trace.streams: GST_NONE where there is none, or more than one. */
bool import_streams_resolve(struct import_process *p);

/* Gives work its call, and calls their place in a stream. */
bool import_link(struct import_build *b, struct import_process *p);
/* trace.comms and trace.nccl, once the calls are linked. */
bool import_collectives(struct import_build *b, struct import_process *p);
/* Names of hooks, kernels, ranges and host operations become the trace's own. */
bool import_publish(struct import_build *b, struct import_process *p);
