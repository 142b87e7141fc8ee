/* SPDX-License-Identifier: BSD-2-Clause */
/* import_nsys.c: Nsight Systems' recordings, as `nsys export --type=sqlite` writes them. Each table is read once, in the order of the file:
 * what needs another table's rows comes after it. Only processes that did something on a device, or called for it, are asked about. */
#include <stdlib.h>

#include "import.h"
#include "import_nsys_parts.h"
#include "tools/alloc.h"
#include "tools/fnv.h"
#include "tools/progress.h"
#include "tools/spill.h"

#define LOOK_EACH 1024 /* rows */

const char *import_nsys_table(unsigned table)
{
	return nsys_table_name(table);
}

/* ---- processes ------------------------------------------------------------------------------------------------------------- */

bool nsys_over(const struct nsys *n)
{
	return n->no_memory || n->file.no_memory || import_failed(n->b);
}

bool nsys_next(struct nsys *n, struct nsys_rows *r)
{
	return (r->n % LOOK_EACH || !nsys_over(n)) && nsys_rows_next(r);
}

uint64_t nsys_row_pid(const struct nsys *n, const struct nsys_rows *r, unsigned column)
{
	int64_t global = nsys_rows_int(r, column, INT64_MIN);

	return global == INT64_MIN ? n->default_pid : nsys_pid((uint64_t)global);
}

static struct nsys_process *add_process(struct nsys *n, uint64_t pid, uint64_t hash)
{
	uint32_t number;

	if (nsys_over(n))
		return NULL;
	number = import_process(n->b, pid);
	if (number == UINT32_MAX)
		return NULL;
	if (!array_room(n->processes, n->n_processes, n->cap_processes) ||
	    !hash_add(&n->by_pid, hash, (uint32_t)n->n_processes)) {
		n->no_memory = true;
		return NULL;
	}
	n->last = n->n_processes++;
	n->processes[n->last] = (struct nsys_process){ .pid = pid, .number = number };
	return &n->processes[n->last];
}

struct nsys_process *nsys_process(struct nsys *n, uint64_t pid, bool make)
{
	uint64_t hash = fnv1a(FNV_BEGIN, &pid, sizeof(pid));
	uint32_t number;

	if (n->last < n->n_processes && n->processes[n->last].pid == pid)
		return &n->processes[n->last];
	for (size_t at = 0; (number = hash_next(&n->by_pid, hash, &at)) != HASH_NONE;)
		if (n->processes[number].pid == pid) {
			n->last = number;
			return &n->processes[number];
		}
	return make ? add_process(n, pid, hash) : NULL;
}

uint32_t nsys_process_number(struct nsys *n, uint64_t pid)
{
	struct nsys_process *p = nsys_process(n, pid, true);

	if (!p)
		return UINT32_MAX;
	p->works = true;
	return p->number;
}

/* Exports that were cut down by hand name threads in one table and no process in the others. */
static void find_default(struct nsys *n)
{
	struct nsys_rows r;

	if (!nsys_rows_begin(&r, &n->file, NSYS_RUNTIME))
		return;
	if (nsys_rows_next(&r))
		n->default_pid = nsys_pid((uint64_t)nsys_rows_int(&r, RUNTIME_globalTid, 0));
	nsys_rows_close(&r);
}

/* ---- the whole file -------------------------------------------------------------------------------------------------------- */

/* nvprof's files have tables of the same names, but other texts. */
static enum err_kind check_tables(const struct nsys_file *f, struct error *e)
{
	static const enum nsys_table any[] = { NSYS_KERNEL, NSYS_MEMCPY,  NSYS_MEMSET,
					       NSYS_GRAPH,  NSYS_RUNTIME, NSYS_NVTX };
	bool found = false;

	for (size_t i = 0; i < sizeof(any) / sizeof(any[0]); i++)
		found |= f->there[any[i]];
	if (!f->there[NSYS_STRINGS])
		return err_set(e, ERR_FORMAT, f->path, ERR_NO_BYTE,
			       "this is no export of Nsight Systems: it has no table %s",
			       nsys_table_name(NSYS_STRINGS));
	if (!found)
		return err_set(
			e, ERR_FORMAT, f->path, ERR_NO_BYTE,
			"this export of Nsight Systems is of no use: it has none of the tables %s, %s and %s; record with "
			"--trace=cuda,nvtx,osrt",
			nsys_table_name(NSYS_KERNEL), nsys_table_name(NSYS_RUNTIME), nsys_table_name(NSYS_NVTX));
	return ERR_NONE;
}

static void say_missing(struct nsys *n)
{
	for (unsigned i = 0; i < NSYS_TABLES; i++)
		if (!n->file.there[i] && nsys_table_words(i) && !(i == NSYS_KERNEL && n->file.there[NSYS_GRAPH]))
			import_warn(n->b, "%s (there is no table %s)", nsys_table_words(i), nsys_table_name(i));
}

static void read_all(struct nsys *n)
{
	static void (*const parts[])(struct nsys *) = {
		nsys_session, find_default, nsys_details, nsys_device_work, nsys_calls,  nsys_ranges,   nsys_host_ops,
		nsys_off_cpu, nsys_devices, nsys_people,  nsys_ranks,       say_missing, nsys_warnings,
	};

	progress_begin(PROGRESS_READ, n->file.bytes);
	if (!nsys_names_open(n))
		n->no_memory = true;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !nsys_over(n); i++)
		parts[i](n);
}

enum err_kind import_nsys(struct import_build *b, const char *path, struct error *damage, struct error *e)
{
	struct nsys n = { .b = b };
	enum err_kind kind = nsys_file_open(&n.file, path, damage, e);

	if (kind)
		return kind;
	kind = check_tables(&n.file, e);
	if (!kind)
		read_all(&n);
	if (n.no_memory || n.file.no_memory)
		kind = err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	nsys_names_close(&n);
	nsys_file_close(&n.file);
	free(n.processes);
	hash_free(&n.by_pid);
	free(n.devices);
	free(n.contexts);
	spill_free(n.details);
	spill_free(n.events);
	return kind;
}
