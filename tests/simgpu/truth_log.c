/* SPDX-License-Identifier: BSD-2-Clause */
#include "truth_log.h"

#include "call_names.h"
#include "driver_thread.h"
#include "settings.h"
#include "timeline.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_WAIT_NS = 500000000 };

struct record {
	enum op_kind kind;
	enum copy_kind copy;
	int device;
	unsigned stream, graph;
	const char *name; /* interned: lives as long as the process */
	uint64_t submit_ns, start_ns, end_ns, bytes;
};

struct batch {
	struct record *records;
	size_t count, room;
};

static struct batch filling, writing;
static bool write_in_progress;
static bool closing;
static int file = -1;
static uint64_t lost; /* records without memory to keep them */

static const char *const op_names[] = {
	[OP_KERNEL] = "kernel", [OP_MEMCPY] = "memcpy", [OP_MEMSET] = "memset", [OP_HOSTFN] = "hostfn"
};
static const char *const copy_names[] = {
	[COPY_NONE] = "",
	[COPY_H2D_PAGEABLE] = "h2d-pageable",
	[COPY_H2D_PINNED] = "h2d-pinned",
	[COPY_D2H_PAGEABLE] = "d2h-pageable",
	[COPY_D2H_PINNED] = "d2h-pinned",
	[COPY_D2D] = "d2d",
	[COPY_PEER] = "peer",
};

/* ---- counts: in a page that a child of fork gets zeroed -------------------------------------------------- */

static _Atomic(atomic_ullong *) counts;

static atomic_ullong *counts_page(void)
{
	atomic_ullong *page = atomic_load_explicit(&counts, memory_order_acquire), *expected = NULL;

	if (page)
		return page;
	page = sim_wiped_page(call_count() * sizeof(*page));
	if (page && !atomic_compare_exchange_strong(&counts, &expected, page))
		page = expected; /* another thread was first; one page is lost once */
	return page;
}

void truth_log_count(unsigned call_id)
{
	atomic_ullong *page = counts_page();

	if (page)
		atomic_fetch_add_explicit(&page[call_id], 1, memory_order_relaxed);
}

/* ---- text ------------------------------------------------------------------------------------------------ */

struct text {
	char bytes[1 << 16];
	size_t used;
};

static void text_write(struct text *text)
{
	size_t done = 0;

	while (file >= 0 && done < text->used) {
		ssize_t n = write(file, text->bytes + done, text->used - done);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	text->used = 0;
}

__attribute__((format(printf, 2, 3))) static void text_add(struct text *text, const char *format, ...)
{
	va_list arguments;

	if (text->used + 4096 > sizeof(text->bytes))
		text_write(text);
	va_start(arguments, format);
	text->used += (size_t)vsnprintf(text->bytes + text->used, sizeof(text->bytes) - text->used, format, arguments);
	va_end(arguments);
	if (text->used >= sizeof(text->bytes))
		text->used = sizeof(text->bytes) - 1;
}

static void text_add_quoted(struct text *text, const char *string)
{
	text_add(text, "\"");
	for (size_t i = 0; i < 2048 && string[i]; i++) {
		unsigned char c = (unsigned char)string[i];

		if (c == '"' || c == '\\')
			text_add(text, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f) /* names are bytes: as if Latin-1 */
			text_add(text, "\\u%04x", c);
		else
			text->bytes[text->used++] = (char)c;
	}
	text_add(text, "\"");
}

static void text_add_record(struct text *text, const struct record *r)
{
	text_add(text, "{\"op\":\"%s\",\"device\":%d,\"stream\":%u,\"name\":", op_names[r->kind], r->device, r->stream);
	text_add_quoted(text, r->name ? r->name : "");
	text_add(text,
		 ",\"kind\":\"%s\",\"submit_ns\":%llu,\"start_ns\":%llu,\"end_ns\":%llu,\"bytes\":%llu,\"graph\":",
		 copy_names[r->copy], (unsigned long long)r->submit_ns, (unsigned long long)r->start_ns,
		 (unsigned long long)r->end_ns, (unsigned long long)r->bytes);
	if (r->graph)
		text_add(text, "%u}\n", r->graph);
	else
		text_add(text, "null}\n");
}

static bool open_file(void)
{
	static char path[4096];

	if (file < 0) {
		settings_log_path(path, sizeof(path));
		file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | O_TRUNC, 0644);
	}
	return file >= 0;
}

static void write_batch(struct batch *batch)
{
	static struct text text; /* one writer at a time: write_in_progress */

	if (open_file())
		for (size_t i = 0; i < batch->count; i++)
			text_add_record(&text, &batch->records[i]);
	text_write(&text);
	batch->count = 0;
}

/* ---- what others call ------------------------------------------------------------------------------------ */

bool truth_log_wanted(void)
{
	return settings()->log[0] != 0;
}

void truth_log_op(const struct op *op)
{
	if (op->kind == OP_EVENT || op->kind == OP_WAIT || op->internal || !truth_log_wanted())
		return;
	if (!closing)
		driver_thread_start(); /* it writes the log now and then */
	if (filling.count == filling.room) {
		size_t room = filling.room ? filling.room * 2 : 4096;
		struct record *records = realloc(filling.records, room * sizeof(*records));

		if (!records) {
			lost++;
			return;
		}
		filling.records = records;
		filling.room = room;
	}
	filling.records[filling.count++] = (struct record){ .kind = op->kind,
							    .copy = op->copy,
							    .device = op->device,
							    .stream = op->stream_number,
							    .graph = op->graph,
							    .name = op->name,
							    .submit_ns = op->submit_ns,
							    .start_ns = op->start_ns,
							    .end_ns = op->end_ns,
							    .bytes = op->transfer.bytes };
}

void truth_log_flush(void)
{
	struct batch full = filling;

	if (write_in_progress || !full.count)
		return;
	filling = writing;
	writing = full;
	write_in_progress = true;
	sim_unlock();
	write_batch(&writing);
	sim_lock();
	write_in_progress = false;
}

static void write_counts(void)
{
	static struct text text;
	atomic_ullong *page = atomic_load(&counts);
	const char *comma = "";

	text_add(&text, "{\"calls\":{");
	for (unsigned i = 0; page && i < call_count(); i++) {
		unsigned long long n = atomic_load_explicit(&page[i], memory_order_relaxed);

		if (!n)
			continue;
		text_add(&text, "%s\"%s\":%llu", comma, call_name(i), n);
		comma = ",";
	}
	text_add(&text, "}");
	if (lost)
		text_add(&text, ",\"lost\":%llu", (unsigned long long)lost);
	text_add(&text, "}\n");
	text_write(&text);
}

static bool any_counted(void)
{
	atomic_ullong *page = atomic_load(&counts);

	for (unsigned i = 0; page && i < call_count(); i++)
		if (atomic_load_explicit(&page[i], memory_order_relaxed))
			return true;
	return false;
}

/* A forked child shares nothing of the parent's log: neither its lock, nor its records, nor its file. */
static void write_child_log(void)
{
	if (!settings()->log_per_process)
		return;
	if (file >= 0)
		close(file);
	file = -1;
	if (open_file())
		write_counts();
}

__attribute__((destructor)) static void truth_log_close(void)
{
	if (!any_counted() || !truth_log_wanted())
		return;
	if (sim_forked()) {
		write_child_log();
		return;
	}
	if (!sim_lock_for(
		    EXIT_WAIT_NS)) /* exit from a signal handler that interrupted a call: the counts are better than nothing */
		goto counts;
	closing = true;
	timeline_advance(clock_now_ns());
	timeline_finish();
	for (int i = 0; write_in_progress && i < 1000; i++) {
		sim_unlock();
		clock_sleep_until(clock_now_ns() + NSEC_PER_SEC / 1000);
		sim_lock();
	}
	write_batch(&filling);
	sim_unlock();
counts:
	if (open_file())
		write_counts();
}
