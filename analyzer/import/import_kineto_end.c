/* SPDX-License-Identifier: BSD-2-Clause */
/* import_kineto_end.c: what the whole file has to be known for: whose the devices' work is (import_kineto_owner.c), and who is called what. */
#include <stdlib.h>
#include <string.h>

#include "import_kineto_parts.h"
#include "tools/alloc.h"
#include "tools/fnv.h"

/* The one with most calls, else with most of the rest, else whose work comes first. */
static uint32_t main_process(const struct kineto *k)
{
	uint32_t best = KINETO_NO_PROCESS;

	for (uint32_t i = 0; i < k->n_processes; i++) {
		const struct kineto_process *p = &k->processes[i],
					    *b = &k->processes[best == KINETO_NO_PROCESS ? 0 : best];

		if (p->calls + p->ops == 0)
			continue;
		if (best == KINETO_NO_PROCESS || p->calls > b->calls || (p->calls == b->calls && p->ops > b->ops))
			best = i;
	}
	if (best == KINETO_NO_PROCESS && k->n_works)
		best = k->works[0].process;
	if (best == KINETO_NO_PROCESS && k->n_overheads)
		best = k->overheads[0].process;
	return best;
}

static uint32_t device_of(const struct kineto *k, const struct kineto_work *w)
{
	const struct kineto_process *p = &k->processes[w->process];

	if (w->work.device != IMPORT_NO_DEVICE)
		return w->work.device;
	if (p->device != IMPORT_NO_DEVICE)
		return p->device;
	return p->calls + p->ops == 0 && p->id < UINT16_MAX ? (uint32_t)p->id : 0;
}

/* Devices that work was done on, in the order they are first seen. */
struct used_device {
	uint32_t process, device;
};

struct used {
	struct used_device *at;
	size_t n, cap;
	struct hash_index index;
	uint32_t last; /* most work is of the same one as the piece before it */
};

static bool is_entry(const struct used *used, uint32_t i, struct used_device d)
{
	return used->at[i].process == d.process && used->at[i].device == d.device;
}

static bool is_used(struct used *used, struct used_device d, uint64_t hash)
{
	uint32_t i;

	for (size_t at = 0; (i = hash_next(&used->index, hash, &at)) != HASH_NONE;)
		if (is_entry(used, i, d)) {
			used->last = i;
			return true;
		}
	return false;
}

static bool use(struct kineto *k, struct used *used, uint32_t process, uint32_t device)
{
	struct import_device d = { .process = process, .device = device };
	struct used_device u = { process, device };
	uint64_t hash;

	if (used->n && is_entry(used, used->last, u))
		return true;
	hash = fnv1a(FNV_BEGIN, &u, sizeof(u));
	if (is_used(used, u, hash))
		return true;
	if (!array_room(used->at, used->n, used->cap) || !hash_add(&used->index, hash, (uint32_t)used->n))
		return false;
	used->last = (uint32_t)used->n;
	used->at[used->n++] = u;
	for (size_t i = 0; i < k->n_devices; i++)
		if (k->devices[i].id == device) {
			d.name = k->devices[i].name;
			d.memory_bytes = k->devices[i].memory_bytes;
			import_device(k->b, &d);
			break;
		}
	return true;
}

static bool tell_works(struct kineto *k, struct kineto_owners *owners)
{
	struct used used = { 0 };
	bool fine = true;

	for (size_t i = 0; i < k->n_works && fine; i++) {
		struct kineto_work *w = &k->works[i];
		uint32_t process = kineto_owner(k, owners, w);

		w->work.device = device_of(k, w);
		w->work.process = kineto_process_number(k, process);
		fine = use(k, &used, w->work.process, w->work.device) && !import_failed(k->b);
		if (fine)
			import_work(k->b, &w->work);
	}
	free(used.at);
	hash_free(&used.index);
	return fine;
}

static void tell_names(struct kineto *k)
{
	for (size_t i = 0; i < k->n_processes; i++) {
		const struct kineto_process *p = &k->processes[i];
		struct import_text name = p->name.bytes ? p->name : p->text;

		if (p->number != KINETO_NO_PROCESS && name.bytes)
			import_command(k->b, p->number, name);
	}
	for (size_t i = 0; i < k->n_threads; i++)
		if (k->processes[k->threads[i].process].number != KINETO_NO_PROCESS)
			import_thread(k->b, k->processes[k->threads[i].process].number, k->threads[i].tid,
				      k->threads[i].name);
}

/* The profiler's own work may be of a process that did nothing else. */
static void tell_overheads(struct kineto *k, uint32_t main)
{
	for (size_t i = 0; i < k->n_overheads; i++) {
		struct kineto_overhead *o = &k->overheads[i];
		bool own = k->processes[o->process].number != KINETO_NO_PROCESS;

		o->op.process = kineto_process_number(k, own ? o->process : main);
		if (!own)
			o->op.tid = 0;
		import_host_op(k->b, &o->op);
	}
}

bool kineto_end(struct kineto *k)
{
	struct kineto_owners *owners;
	uint32_t main;
	bool fine;

	if (!kineto_pairs_end(k))
		return false;
	main = main_process(k);
	owners = kineto_owners_new(k, main);
	if (!owners)
		return false;
	fine = tell_works(k, owners);
	kineto_owners_free(owners);
	if (!fine)
		return false;
	kineto_collectives_end(k);
	if (main != KINETO_NO_PROCESS) {
		tell_overheads(k, main);
		if (k->ranked)
			import_rank(k->b, kineto_process_number(k, main), (uint32_t)k->rank, (uint32_t)k->ranks);
	}
	tell_names(k);
	kineto_others_end(k);
	return !import_failed(k->b);
}
