/* SPDX-License-Identifier: BSD-2-Clause */
/* import_seen.h: stands in for import_build: what an importer says becomes lines of text, one for each fact. For a test program of one
 * importer alone; the library's own functions are then not taken. */
#pragma once

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/import.h"
#include "import/import_names.h"

#define SEEN_NAMES 4096

struct import_build {
	char *lines;                /* each ends in a newline */
	size_t bytes, cap;
	char *names[SEEN_NAMES];
	uint32_t n_names;
	uint64_t pids[IMPORT_PROCESSES_MAX];
	uint32_t n_pids;
	size_t facts;
	size_t fail_after; /* of the last fact on import_failed says so; 0 never */
	bool failed;
};

static __attribute__((format(printf, 2, 3))) void seen_add(struct import_build *b, const char *format, ...)
{
	va_list args;
	int n;

	if (b->bytes + 8192 > b->cap) {
		b->cap = 2 * b->cap + 65536;
		b->lines = realloc(b->lines, b->cap);
	}
	va_start(args, format);
	n = vsnprintf(b->lines + b->bytes, b->cap - b->bytes, format, args);
	va_end(args);
	b->bytes += (size_t)n < b->cap - b->bytes ? (size_t)n : b->cap - b->bytes - 1;
	b->facts++;
}

static const char *seen_name(const struct import_build *b, uint32_t name)
{
	return name && name <= b->n_names ? b->names[name - 1] : "";
}

/* "-" none, else the number. */
static const char *seen_number(char buf[24], uint64_t value, uint64_t none)
{
	snprintf(buf, 24, value == none ? "-" : "%" PRIu64, value);
	return buf;
}

static void seen_free(struct import_build *b)
{
	for (uint32_t i = 0; i < b->n_names; i++)
		free(b->names[i]);
	free(b->lines);
	*b = (struct import_build){ 0 };
}

/* ---- what the importer calls ---- */

uint32_t import_process(struct import_build *b, uint64_t pid)
{
	for (uint32_t i = 0; i < b->n_pids; i++)
		if (b->pids[i] == pid)
			return i;
	if (b->n_pids == IMPORT_PROCESSES_MAX) {
		b->failed = true;
		return UINT32_MAX;
	}
	b->pids[b->n_pids] = pid;
	return b->n_pids++;
}

uint32_t import_name(struct import_build *b, struct import_text text)
{
	if (!text.bytes)
		return 0;
	for (uint32_t i = 0; i < b->n_names; i++)
		if (strlen(b->names[i]) == text.bytes && memcmp(b->names[i], text.at, text.bytes) == 0)
			return i + 1;
	if (b->n_names == SEEN_NAMES)
		return 0;
	b->names[b->n_names] = strndup(text.at, text.bytes);
	return ++b->n_names;
}

uint8_t import_family(struct import_build *b, uint32_t name)
{
	uint8_t family, ways;

	import_call_kind(seen_name(b, name), &family, &ways);
	return family;
}

void import_thread(struct import_build *b, uint32_t process, uint32_t tid, struct import_text name)
{
	seen_add(b, "thread %" PRIu64 "/%u %.*s\n", b->pids[process], tid, (int)name.bytes, name.at);
}

void import_device(struct import_build *b, const struct import_device *d)
{
	seen_add(b, "device %" PRIu64 "/%u %.*s memory=%" PRIu64 " uuid=%02x%02x..%02x\n", b->pids[d->process], d->device, (int)d->name.bytes,
		 d->name.at, d->memory_bytes, d->uuid[0], d->uuid[1], d->uuid[15]);
}

void import_rank(struct import_build *b, uint32_t process, uint32_t rank, uint32_t ranks)
{
	seen_add(b, "rank %" PRIu64 " %u/%u\n", b->pids[process], rank, ranks);
}

void import_host(struct import_build *b, struct import_text name)
{
	seen_add(b, "host %.*s\n", (int)name.bytes, name.at);
}

void import_command(struct import_build *b, uint32_t process, struct import_text command)
{
	seen_add(b, "command %" PRIu64 " %.*s\n", b->pids[process], (int)command.bytes, command.at);
}

void import_call(struct import_build *b, const struct import_call *c)
{
	char stream[24], device[24], context[36] = "";

	if (c->context)
		snprintf(context, sizeof(context), " context=%" PRIu64, c->context);
	seen_add(b, "call %" PRIu64 "/%u %" PRId64 "..%" PRId64 " %s result=%d corr=%" PRIu64 " stream=%s%s device=%s bytes=%" PRIu64 " address=%" PRIu64 " @%u:%llu\n",
		 b->pids[c->process], c->tid, c->begin_ns, c->end_ns, seen_name(b, c->name), c->result, c->correlation,
		 seen_number(stream, c->stream, IMPORT_NO_STREAM), context, seen_number(device, c->device, IMPORT_NO_DEVICE), c->bytes,
		 c->address, IMPORT_TABLE(c->place), IMPORT_ROW_OF(c->place));
}

void import_work(struct import_build *b, const struct import_work *w)
{
	char stream[24], device[24];

	seen_add(b, "work %" PRIu64 " kind=%u %" PRId64 "..%" PRId64 " %s device=%s stream=%s context=%" PRIu64 " corr=%" PRIu64 " bytes=%" PRIu64 " copy=%u node=%" PRIu64 " @%u:%llu\n",
		 b->pids[w->process], w->kind, w->begin_ns, w->end_ns, seen_name(b, w->name), seen_number(device, w->device, IMPORT_NO_DEVICE),
		 seen_number(stream, w->stream, IMPORT_NO_STREAM), w->context, w->correlation, w->bytes, w->copy, w->node,
		 IMPORT_TABLE(w->place), IMPORT_ROW_OF(w->place));
}

void import_range(struct import_build *b, const struct import_range *r)
{
	char end[24];

	seen_add(b, "range %" PRIu64 "/%u %" PRId64 "..%s %s domain=%s%s @%u:%llu\n", b->pids[r->process], r->tid, r->begin_ns,
		 seen_number(end, (uint64_t)r->end_ns, INT64_MAX), seen_name(b, r->name), seen_name(b, r->domain), r->started ? " started" : "",
		 IMPORT_TABLE(r->place), IMPORT_ROW_OF(r->place));
}

void import_host_op(struct import_build *b, const struct import_host_op *o)
{
	seen_add(b, "op %" PRIu64 "/%u kind=%d %" PRId64 "..%" PRId64 " %s @%u:%llu\n", b->pids[o->process], o->tid, o->kind, o->begin_ns, o->end_ns,
		 seen_name(b, o->name), IMPORT_TABLE(o->place), IMPORT_ROW_OF(o->place));
}

/* "-": not said. */
void import_collective(struct import_build *b, const struct import_collective *c)
{
	char size[24], first[24], stride[24];

	seen_add(b, "collective %" PRIu64 "/%u %" PRId64 "..%" PRId64 " %s group=%s ranks=%s size=%s first=%s stride=%s %s in=%" PRIu64 " out=%" PRIu64 " seq=%" PRIu64 " corr=%" PRIu64 " @%u:%llu\n",
		 b->pids[c->process], c->tid, c->begin_ns, c->end_ns, seen_name(b, c->name), seen_name(b, c->group), seen_name(b, c->ranks),
		 seen_number(size, c->size, GST_NONE), seen_number(first, c->first, GST_NONE), seen_number(stride, c->stride, GST_NONE),
		 seen_name(b, c->dtype), c->elements_in, c->elements_out, c->seq, c->correlation, IMPORT_TABLE(c->place), IMPORT_ROW_OF(c->place));
}

/* "-": not said. */
void import_block(struct import_build *b, const struct import_block *m)
{
	char allocated[24], reserved[24];

	seen_add(b, "block %" PRIu64 "/%u %" PRId64 " device=%u %" PRIu64 "+%" PRIu64 " allocated=%s reserved=%s%s @%" PRIu64 "\n",
		 b->pids[m->process], m->tid, m->time_ns, m->device, m->address, m->bytes,
		 seen_number(allocated, m->has_allocated ? m->allocated : UINT64_MAX, UINT64_MAX),
		 seen_number(reserved, m->has_reserved ? m->reserved : UINT64_MAX, UINT64_MAX), m->freed ? " freed" : "", m->place);
}

void import_lost(struct import_build *b, uint64_t records)
{
	seen_add(b, "lost %" PRIu64 "\n", records);
}

void import_left_out(struct import_build *b, uint64_t records, uint64_t work)
{
	seen_add(b, "left out %" PRIu64 ", work %" PRIu64 "\n", records, work);
}

void import_warn(struct import_build *b, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	seen_add(b, "warn %s\n", text);
}

void import_epoch(struct import_build *b, int64_t real_ns)
{
	seen_add(b, "epoch %" PRId64 "\n", real_ns);
}

void import_cut(struct import_build *b, int64_t ns)
{
	seen_add(b, "cut %" PRId64 "\n", ns);
}

bool import_failed(const struct import_build *b)
{
	return b->failed || (b->fail_after && b->facts >= b->fail_after);
}
