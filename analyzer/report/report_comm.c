/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_comm.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "run/comm_hashes.h"
#include "tools/alloc.h"
#include "tools/text.h"

#define KINDS (GST_NCCL_WAIT_SIGNAL + 1) /* those that move something */
#define LISTED 64

/* What was done on one communicator: calls that NCCL took. */
struct use {
	uint64_t n[KINDS], bytes[KINDS];
	uint32_t last_seq; /* highest number of a collective */
};

/* By index of the communicator. NULL: no memory. */
static struct use *uses_of(const struct trace *t)
{
	struct use *uses = array_new(t->n_comms, sizeof(*uses));

	for (size_t i = 0; uses && i < t->n_nccl; i++) {
		const struct nccl_call *c = &t->nccl[i];
		struct use *u;

		if (c->comm == GST_NONE || c->kind == GST_NCCL_OTHER || c->kind >= KINDS || !nccl_took(c))
			continue;
		u = &uses[c->comm];
		u->n[c->kind]++;
		u->bytes[c->kind] += nccl_bytes(c);
		if (nccl_is_collective(c->kind) && c->seq > u->last_seq)
			u->last_seq = c->seq;
	}
	return uses;
}

static const char *made_by(const struct comm *c)
{
	return (c->flags & GST_COMM_ALL) ? "init_all" : nccl_kind_name(c->made);
}

/* "2.28.9" */
static const char *version_text(char buf[TEXT_SHORT], uint32_t version)
{
	if (version >= 10000)
		snprintf(buf, TEXT_SHORT, "%u.%u.%u", version / 10000, version / 100 % 100, version % 100);
	else
		snprintf(buf, TEXT_SHORT, "%u.%u.%u", version / 1000, version / 100 % 10, version % 100);
	return buf;
}

/* ---- for people ---- */

static size_t append(char *buf, size_t size, size_t at, const char *format, ...) __attribute__((format(printf, 4, 5)));
static size_t append(char *buf, size_t size, size_t at, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(buf + at, size - at, format, args);
	va_end(args);
	return n < 0 ? at : at + (size_t)n < size ? at + (size_t)n : size - 1;
}

static void one(const struct page *p, const struct comm *c, const struct use *u)
{
	char text[2048], clean[512], number[TEXT_SHORT];
	size_t n = 0;

	if (c->rank != GST_NONE)
		n = append(text, sizeof(text), n, "rank %u of %u", c->rank, c->size);
	else
		n = append(text, sizeof(text), n, "rank not known");
	if (c->device != 0xffff)
		n = append(text, sizeof(text), n, ", device %u", c->device);
	if (c->made != GST_NCCL_OTHER)
		n = append(text, sizeof(text), n, ", %s", made_by(c));
	if (c->parent)
		n = append(text, sizeof(text), n, " of %u", c->parent);
	if (c->version)
		n = append(text, sizeof(text), n, ", NCCL %s", version_text(number, c->version));
	if (c->name)
		n = append(text, sizeof(text), n, ", \"%s\"", text_clean(clean, sizeof(clean), c->name, 64));
	for (unsigned k = 0; k < KINDS; k++) {
		if (u->n[k])
			n = append(text, sizeof(text), n, "; %" PRIu64 " %s", u->n[k], nccl_kind_name((uint8_t)k));
		if (u->bytes[k])
			n = append(text, sizeof(text), n, " %s", text_bytes(number, u->bytes[k]));
	}
	fprintf(p->out, "  %-4u%016" PRIx64 "  ", c->id, c->hash);
	page_wrap(p, INK_PLAIN, 24, 24, text);
}

enum err_kind report_comms(const struct page *p, const struct trace *t, struct error *e)
{
	struct use *uses;

	if (!t->n_comms)
		return ERR_NONE;
	uses = uses_of(t);
	if (!uses)
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	page_ink(p, INK_TITLE, "\n  communicators\n");
	for (size_t i = 0; i < t->n_comms && i < LISTED; i++)
		one(p, &t->comms[i], &uses[i]);
	if (t->n_comms > LISTED)
		page_ink(p, INK_DIM, "  and %zu more\n", t->n_comms - LISTED);
	free(uses);
	return ERR_NONE;
}

/* ---- for programs ---- */

struct member {
	uint64_t hash;
	uint32_t trace, comm;
};

struct members {
	struct member *at;
	size_t n;
	struct comm_hashes hashes;
	struct use **uses; /* by trace */
};

static int by_hash(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->trace != y->trace)
		return x->trace < y->trace ? -1 : 1;
	return (x->comm > y->comm) - (x->comm < y->comm);
}

static bool collect(struct members *m, const struct run *run)
{
	size_t all = 0;

	for (size_t i = 0; i < run->n_traces; i++)
		all += run->traces[i]->n_comms;
	m->at = array_new(all, sizeof(*m->at));
	m->uses = array_new(run->n_traces, sizeof(*m->uses));
	if (!m->at || !m->uses || !comm_hashes_build(&m->hashes, run))
		return false;
	for (size_t i = 0; i < run->n_traces; i++) {
		const struct trace *t = run->traces[i];

		m->uses[i] = uses_of(t);
		if (!m->uses[i])
			return false;
		for (size_t k = 0; k < t->n_comms; k++)
			m->at[m->n++] =
				(struct member){ comm_hash_of(&m->hashes, t->comms[k].hash), (uint32_t)i, (uint32_t)k };
	}
	array_sort(m->at, m->n, sizeof(*m->at), by_hash);
	return true;
}

static void hash_text(struct json *j, const char *key, uint64_t hash)
{
	char text[20];

	snprintf(text, sizeof(text), "%016" PRIx64, hash);
	json_key_text(j, key, text);
}

static void member_json(struct json *j, const struct members *m, const struct member *at, const struct run *run)
{
	const struct trace *t = run->traces[at->trace];
	const struct comm *c = &t->comms[at->comm];
	const struct use *u = &m->uses[at->trace][at->comm];
	uint32_t parent = comms_index(t, c->parent);

	json_map(j);
	json_key_int(j, "pid", t->header.pid);
	json_key_int(j, "rank", c->rank == GST_NONE ? -1 : (int64_t)c->rank);
	json_key_int(j, "device", c->device == 0xffff ? -1 : c->device);
	json_key_text(j, "made", made_by(c));
	if (parent != GST_NONE)
		hash_text(j, "parent", comm_hash_of(&m->hashes, t->comms[parent].hash));
	json_key(j, "nonblocking");
	json_bool(j, c->flags & GST_COMM_NONBLOCKING);
	json_key_text(j, "library", c->library ? c->library : "");
	json_key_int(j, "version", c->version);
	json_key_int(j, "last_seq", u->last_seq);
	json_key_map(j, "operations");
	for (unsigned k = 0; k < KINDS; k++) {
		if (!u->n[k])
			continue;
		json_key_map(j, nccl_kind_name((uint8_t)k));
		json_key_int(j, "calls", (int64_t)u->n[k]);
		json_key_int(j, "bytes", (int64_t)(u->bytes[k] & INT64_MAX));
		json_map_end(j);
	}
	json_map_end(j);
	json_map_end(j);
}

/* Members i … of one hash; the place behind them. */
static size_t communicator(struct json *j, const struct members *m, size_t i, const struct run *run)
{
	uint64_t hash = m->at[i].hash;
	uint32_t size = GST_NONE;
	const char *name = "";
	size_t end = i;

	for (; end < m->n && m->at[end].hash == hash; end++) {
		const struct comm *c = &run->traces[m->at[end].trace]->comms[m->at[end].comm];

		size = size == GST_NONE ? c->size : size;
		name = *name || !c->name ? name : c->name;
	}
	json_map(j);
	hash_text(j, "hash", hash);
	json_key_int(j, "size", size == GST_NONE ? -1 : (int64_t)size);
	json_key_text(j, "name", name);
	json_key_array(j, "ranks");
	for (; i < end; i++)
		member_json(j, m, &m->at[i], run);
	json_array_end(j);
	json_map_end(j);
	return end;
}

enum err_kind report_comms_json(struct json *j, const struct run *run, struct error *e)
{
	struct members m = { 0 };
	bool ok = collect(&m, run);

	json_key_array(j, "communicators");
	for (size_t i = 0; ok && i < m.n;)
		i = communicator(j, &m, i, run);
	json_array_end(j);
	for (size_t i = 0; m.uses && i < run->n_traces; i++)
		free(m.uses[i]);
	free(m.uses);
	comm_hashes_free(&m.hashes);
	free(m.at);
	return ok ? ERR_NONE : err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
}
