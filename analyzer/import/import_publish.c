/* SPDX-License-Identifier: BSD-2-Clause */
/* import_publish.c: a process's names become its trace's own: those that it uses, in one piece of text. */
#include "import_build.h"

#include "tools/alloc.h"
#include "trace/comm_kernels.h"

#include <stdlib.h>
#include <string.h>

struct import_used {              /* of one name of the import */
	size_t text;              /* 1 + where it stands in trace.text, 0 it does not */
	uint32_t kernel, host_op; /* its index there, 0 none */
};

struct publishing {
	const struct import_names *names;
	const struct import_process *process;
	struct trace *t;
	struct import_used *used;
	uint32_t *list; /* names that are used, in the order of their first use */
	size_t n, cap;
	size_t bytes;
};

static bool use(struct publishing *p, uint32_t name)
{
	if (!name || p->used[name].text)
		return true;
	if (!array_room(p->list, p->n, p->cap))
		return false;
	p->list[p->n++] = name;
	p->used[name].text = p->bytes + 1;
	p->bytes += p->names->at[name].bytes + 1;
	return true;
}

/* NULL: it has none. */
static const char *text_of(const struct publishing *p, uint32_t name)
{
	return name ? p->t->text + p->used[name].text - 1 : NULL;
}

/* Gives kernels and host operations their numbers, and finds the text of all. */
static bool number_all(struct publishing *p)
{
	struct trace *t = p->t;
	bool ok = true;

	t->n_kernels = t->host_ops.n_names = 1;
	for (size_t i = 0; ok && i < t->n_measured; i++) {
		uint32_t name = t->measured[i].name;

		ok = use(p, name);
		if (name && !p->used[name].kernel)
			p->used[name].kernel = (uint32_t)t->n_kernels++;
	}
	for (size_t i = 0; ok && i < t->host_ops.n; i++) {
		uint32_t name = t->host_ops.at[i].name;

		ok = use(p, name);
		if (name && !p->used[name].host_op)
			p->used[name].host_op = (uint32_t)t->host_ops.n_names++;
	}
	for (size_t i = 0; ok && i < t->n_ranges; i++)
		ok = use(p, t->ranges[i].id) && use(p, (uint32_t)t->ranges[i].payload);
	for (size_t i = 0; ok && i < p->process->n_nccl_names; i++)
		ok = use(p, p->process->nccl_names[i]);
	for (size_t i = 0; ok && i < t->n_comms; i++)
		ok = use(p, t->comms[i].library_name);
	for (uint32_t i = 0; ok && i < p->names->hooks; i++)
		ok = use(p, p->names->by_hook[i]);
	return ok;
}

static bool make_tables(struct publishing *p)
{
	struct trace *t = p->t;

	t->n_hooks = GST_HOOK_MAX + 1; /* the last one stands for those whose name is lost */
	t->text = array_new(p->bytes, 1);
	t->hooks = array_new(t->n_hooks, sizeof(*t->hooks));
	t->kernels = array_new(t->n_kernels, sizeof(*t->kernels));
	t->communicates = array_new(t->n_kernels, sizeof(*t->communicates));
	t->host_ops.names = array_new(t->host_ops.n_names, sizeof(*t->host_ops.names));
	if (!t->text || !t->hooks || !t->kernels || !t->communicates || !t->host_ops.names)
		return false;
	t->kernels[0] = t->host_ops.names[0] = "";
	for (size_t i = 0; i < p->n; i++) {
		const struct import_named *n = &p->names->at[p->list[i]];
		const struct import_used *u = &p->used[p->list[i]];
		char *text = t->text + u->text - 1;

		memcpy(text, n->text, n->bytes + 1u);
		if (n->hook < GST_HOOK_MAX)
			t->hooks[n->hook] = text;
		if (u->kernel) {
			t->kernels[u->kernel] = text;
			t->communicates[u->kernel] = comm_kernel(text);
		}
		if (u->host_op)
			t->host_ops.names[u->host_op] = text;
	}
	return true;
}

/* The last hook has no name. */
static bool name_collectives(struct publishing *p)
{
	struct trace *t = p->t;

	if (!t->n_nccl)
		return true;
	t->n_nccl_hooks = p->process->n_nccl_names + 1;
	t->nccl_hooks = array_new(t->n_nccl_hooks, sizeof(*t->nccl_hooks));
	if (!t->nccl_hooks)
		return false;
	for (size_t i = 0; i < p->process->n_nccl_names; i++)
		t->nccl_hooks[i] = text_of(p, p->process->nccl_names[i]);
	for (size_t i = 0; i < t->n_comms; i++) {
		t->comms[i].name = text_of(p, t->comms[i].library_name);
		t->comms[i].library_name = 0;
	}
	return true;
}

static void rename_all(struct publishing *p)
{
	struct trace *t = p->t;

	for (size_t i = 0; i < t->n_measured; i++)
		t->measured[i].name = p->used[t->measured[i].name].kernel;
	for (size_t i = 0; i < t->n_calls; i++)
		t->calls[i].name = p->used[t->calls[i].name].kernel;
	for (size_t i = 0; i < t->host_ops.n; i++)
		t->host_ops.at[i].name = p->used[t->host_ops.at[i].name].host_op;
	for (size_t i = 0; i < t->n_ranges; i++) {
		struct range *r = &t->ranges[i];

		r->name = text_of(p, r->id);
		r->domain = text_of(p, (uint32_t)r->payload);
		r->payload = 0;
		r->id = (uint32_t)i + 1;
	}
}

/* One array serves all processes: there may be many of these, each with few of the names. */
static bool make_used(struct import_build *b)
{
	if (b->n_used >= b->names.n)
		return true;
	free(b->used);
	b->used = array_new(b->names.n, sizeof(*b->used));
	b->n_used = b->used ? b->names.n : 0;
	return b->used != NULL;
}

static void forget_used(struct publishing *p)
{
	for (size_t i = 0; i < p->n; i++)
		p->used[p->list[i]] = (struct import_used){ 0 };
}

bool import_publish(struct import_build *b, struct import_process *process)
{
	struct publishing p = { .names = &b->names, .process = process, .t = process->t };
	bool ok = make_used(b);

	p.used = b->used;
	ok = ok && number_all(&p) && make_tables(&p) && name_collectives(&p);
	if (ok)
		rename_all(&p);
	forget_used(&p);
	free(p.list);
	return ok;
}
