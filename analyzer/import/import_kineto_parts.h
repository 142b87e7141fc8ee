/* SPDX-License-Identifier: BSD-2-Clause */
/* import_kineto_parts.h: what the parts of import_kineto share. Calls, operators and annotations are told to the builder as they come. What is in
 * two halves, work of devices, names of threads and what the file says of devices and ranks wait for the end of the file: only then it is known
 * what belongs together, and whose they are, since an event of a device has the device's number where others have their process. */
#pragma once

#include "import_facts.h"
#include "import_kineto_read.h"
#include "tools/arena.h"
#include "tools/hash_index.h"

#define KINETO_NO_PROCESS UINT32_MAX

struct kineto_process { /* whatever the file calls one: a process, or one of its devices */
	uint64_t id;
	uint32_t number; /* import_process's; KINETO_NO_PROCESS: not asked for yet */
	uint32_t device; /* its label says "GPU 3"; IMPORT_NO_DEVICE */
	uint64_t calls, ops;
	struct import_text name, text; /* text: what the file has in place of a number */
};

struct kineto_work { /* process and device of `work` are known in the end */
	struct import_work work;
	uint32_t process; /* of kineto.processes: where it stood */
};

struct kineto_link { /* a call that has a correlation, and may submit work */
	uint64_t correlation;
	int64_t begin_ns;
	uint32_t process;
	bool submits; /* by its name it does; else nobody knows the name */
	bool at_home; /* import_kineto_owner.c's */
};

struct kineto_thread {
	uint32_t process, tid;
	struct import_text name;
};

struct kineto_overhead {
	struct import_host_op op;
	uint32_t process;
};

struct kineto_collective { /* that a kernel says; its process is known in the end */
	struct import_collective said;
	size_t work; /* of kineto.works */
};

struct kineto_device {
	uint64_t id, memory_bytes;
	struct import_text name;
};

struct kineto_name { /* what counts of an event's name, once the text is gone */
	uint32_t number; /* import_name's */
	uint8_t copy;    /* enum gst_copy_kind */
	bool marks;      /* an operator that is the program's own mark: a step, an optimizer's */
	bool loads;      /* an annotation around a loader's next batch */
};

#define KINETO_OTHERS 8 /* categories that are named in warnings */

struct kineto_others { /* events that are left out because nobody knows what they are */
	struct { char name[64]; uint64_t work, other; } at[KINETO_OTHERS];
	size_t n;
	uint64_t work, other; /* of further categories */
};

struct kineto {
	struct import_build *b;
	struct arena texts;
	struct kineto_process *processes; size_t n_processes, processes_cap;
	struct hash_index process_index; /* by id */
	uint32_t last_process;           /* most events are of the same one as the one before */
	struct kineto_work *works; size_t n_works, works_cap;
	struct kineto_link *links; size_t n_links, links_cap;
	struct kineto_thread *threads; size_t n_threads, threads_cap;
	struct hash_index thread_index; /* by process, tid and name */
	struct kineto_collective *collectives; size_t n_collectives, collectives_cap;
	struct kineto_overhead *overheads; size_t n_overheads, overheads_cap;
	struct kineto_device *devices; size_t n_devices, devices_cap;
	struct kineto_pairs *pairs; /* events in two halves, until the end of the file */
	struct kineto_others others;
	uint64_t lacking, work_lacking; /* events that lack what they need; those that are, or may be, work */
	uint64_t no_addresses; /* of allocations: they tell nothing */
	uint64_t rank, ranks;
	bool ranked;
};

/* Number in k->processes of the event's; KINETO_NO_PROCESS: no memory. */
uint32_t kineto_process(struct kineto *k, const struct kineto_event *e);
/* … import_process's for it. */
uint32_t kineto_process_number(struct kineto *k, uint32_t process);
/* As import_facts.h has threads: 32 bits, the same for the same. 0: the event says none. */
uint32_t kineto_tid(const struct kineto_event *e);
bool kineto_keep(struct kineto *k, struct import_text *out, struct import_text text);

struct kineto_name kineto_name(struct kineto *k, const struct kineto_event *e);
/* The whole of an event, once its end is known. started: it began and ended anywhere, not within its thread. False: no memory. */
bool kineto_complete(struct kineto *k, const struct kineto_event *e, struct kineto_name name, int64_t begin_ns, int64_t end_ns,
		     bool started);

/* Of a category that tells nothing of its own. */
bool kineto_is_left_out(enum kineto_class class);

/* import_kineto_work.c */
/* The stream whose line it is drawn on, from its thread, which it says. */
uint64_t kineto_drawn(const struct kineto_event *e);
bool kineto_is_work(enum kineto_class class);
bool kineto_work(struct kineto *k, const struct kineto_event *e, struct kineto_name name, int64_t begin_ns, int64_t end_ns);
enum gst_copy_kind kineto_copy_kind(struct import_text name);

/* import_kineto_comm.c: what a call or a kernel says of a collective, once it is told itself. False: no memory. */
bool kineto_collective(struct kineto *k, const struct kineto_event *e, int64_t begin_ns, int64_t end_ns);
void kineto_collectives_end(struct kineto *k); /* those of kernels, whose processes are known now */

/* import_kineto_pairs.c: an event that begins (phases B, b, S) or ends one (E, e, F). */
bool kineto_pair(struct kineto *k, const struct kineto_event *e);
bool kineto_pairs_end(struct kineto *k); /* tells them, whole or not, once all are there. False: no memory */
void kineto_pairs_free(struct kineto *k);

/* import_kineto_meta.c: names of processes and threads, and what the file says of itself. False: no memory. */
bool kineto_metadata(struct kineto *k, const struct kineto_event *e);
void kineto_other(struct kineto *k, const struct kineto_event *e);
void kineto_lacks(struct kineto *k, const struct kineto_event *e); /* it is left out: something is missing in it */
void kineto_others_end(struct kineto *k);

/* import_kineto_owner.c: of which process each piece of work is, as a number in k->processes. A call that is told, once all work is; NULL, false: no
 * memory. main: of whom it is where nothing tells. */
bool kineto_link_call(struct kineto *k, const struct import_call *c, uint32_t process);
struct kineto_owners *kineto_owners_new(struct kineto *k, uint32_t main);
uint32_t kineto_owner(const struct kineto *k, struct kineto_owners *o, const struct kineto_work *w);
void kineto_owners_free(struct kineto_owners *o);

/* import_kineto_end.c: what waited for the end of the file. False: no memory. */
bool kineto_end(struct kineto *k);
