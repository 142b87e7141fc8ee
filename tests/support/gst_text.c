/* SPDX-License-Identifier: BSD-2-Clause */
#include "gst_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPOCH_NS 1000000000ull /* time 0 of the text on CLOCK_MONOTONIC */
#define WORDS 24
#define NAMES 512
#define EDGES 4096
#define GRAPHS 64

struct parser {
	struct gst_text *out;
	struct gst_text_file *file;
	char *words[WORDS]; /* of this line: the event, then key=value */
	int n_words;
	bool unfinished;
	bool bad; /* a word that could not be read */
	double drift;
	uint32_t tid;
	uint32_t thread_segment[NAMES], thread_id[NAMES]; /* last segment of each thread */
	size_t n_threads;
	char names[NAMES][128]; /* written already, with their space in front */
	size_t n_names;
	double fired_ms[EDGES]; /* on the device's clock */
	uint32_t first_edge;
	struct gst_graph graphs[GRAPHS]; /* what was written of each structure so far */
};

/* ---- words ------------------------------------------------------------------------------------------ */

static const char *value_of(const struct parser *p, const char *key)
{
	size_t n = strlen(key);

	for (int i = 1; i < p->n_words; i++)
		if (strncmp(p->words[i], key, n) == 0 && p->words[i][n] == '=')
			return p->words[i] + n + 1;
	return NULL;
}

static uint64_t number(struct parser *p, const char *key, uint64_t otherwise)
{
	const char *text = value_of(p, key);
	char *end;
	uint64_t value;

	if (!text)
		return otherwise;
	value = strtoull(text, &end, 0);
	p->bad |= *end != '\0' || end == text;
	return value;
}

/* "12.5us" up to the end of the text or `..`; *rest: what follows. */
static uint64_t duration_at(struct parser *p, const char *text, const char **rest)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char digits[64];
	size_t n = strspn(text, "0123456789"), fraction = 0;

	if (text[n] == '.' && text[n + 1] != '.')
		fraction = 1 + strspn(text + n + 1, "0123456789");
	snprintf(digits, sizeof(digits), "%.*s", (int)(n + fraction), text);
	text += n + fraction;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t length = strlen(units[i].unit);

		if (n && strncmp(text, units[i].unit, length) == 0) {
			*rest = text + length;
			return (uint64_t)llround(strtod(digits, NULL) * units[i].ns);
		}
	}
	p->bad = true;
	*rest = text + strlen(text);
	return 0;
}

static uint64_t duration(struct parser *p, const char *key, uint64_t otherwise)
{
	const char *text = value_of(p, key), *rest;
	uint64_t value;

	if (!text)
		return otherwise;
	value = duration_at(p, text, &rest);
	p->bad |= *rest != '\0';
	return value;
}

static uint64_t instant(struct parser *p, const char *key)
{
	return value_of(p, key) ? EPOCH_NS + duration(p, key, 0) : 0;
}

/* t=begin..end, or t=at */
static void span(struct parser *p, uint64_t *begin, uint64_t *end)
{
	const char *text = value_of(p, "t"), *rest;

	*begin = *end = EPOCH_NS;
	if (!text) {
		p->bad = true;
		return;
	}
	*begin = *end = EPOCH_NS + duration_at(p, text, &rest);
	if (strncmp(rest, "..", 2) == 0)
		*end = EPOCH_NS + duration_at(p, rest + 2, &rest);
	p->bad |= *rest != '\0';
	if (*end > p->file->image.last_ticks)
		p->file->image.last_ticks = *end;
}

/* The position of a word in a list that ends with NULL. */
static uint32_t choice(struct parser *p, const char *text, const char *const *list, uint32_t otherwise)
{
	if (!text)
		return otherwise;
	for (uint32_t i = 0; list[i]; i++)
		if (strcmp(text, list[i]) == 0)
			return i;
	p->bad = true;
	return otherwise;
}

static bool has_flag(const struct parser *p, const char *flag)
{
	const char *text = value_of(p, "flags");

	return text && strstr(text, flag);
}

/* ---- records ---------------------------------------------------------------------------------------- */

static void add(struct parser *p, uint16_t type, const void *record, size_t size)
{
	p->bad |= gst_image_add(&p->file->image, type, record, size, !p->unfinished) == 0;
	p->unfinished = false;
}

/* The id of a name; its record is written when it is first used. Ids of all spaces share one count. */
static uint32_t name_id(struct parser *p, uint16_t space, const char *text)
{
	char key[128];

	if (!text || !*text)
		return 0;
	snprintf(key, sizeof(key), "%u%s", space, text);
	for (size_t i = 0; i < p->n_names; i++)
		if (strcmp(p->names[i], key) == 0)
			return (uint32_t)i + 1;
	if (p->n_names == NAMES || (space == GST_SPACE_HOOK && p->n_names + 1 >= GST_HOOK_MAX)) {
		p->bad = true;
		return 0;
	}
	strcpy(p->names[p->n_names++], key);
	p->bad |= gst_image_name(&p->file->image, space, (uint32_t)p->n_names, text, strlen(text)) == 0;
	return (uint32_t)p->n_names;
}

static void begin_process(struct parser *p)
{
	static const char *const levels[] = { "", "host", "edges", "bursts", "cupti", NULL };
	struct gst_text_file *bigger = realloc(p->out->files, (p->out->n + 1) * sizeof(*bigger));
	struct gst_file_header *h;
	struct gst_counters *c;
	const char *host = value_of(p, "host"), *run = value_of(p, "run"), *command = value_of(p, "command");

	if (!bigger || p->n_words < 2) {
		p->bad = true;
		return;
	}
	p->out->files = bigger;
	p->file = &bigger[p->out->n];
	if (!gst_image_new(&p->file->image)) {
		p->bad = true;
		return;
	}
	p->out->n++;
	p->n_names = p->n_threads = 0;
	p->first_edge = 0;
	p->drift = (double)number(p, "drift", 20) * 1e-6;
	h = gst_image_header(&p->file->image);
	h->pid = (uint32_t)strtoul(p->words[1], NULL, 0);
	h->device_level = choice(p, value_of(p, "level"), levels, GST_LEVEL_EDGES);
	h->start_ticks = h->start_mono_ns = EPOCH_NS + duration(p, "start", 0);
	h->process_start_mono_ns = h->start_mono_ns - 10000000;
	h->start_real_ns = duration(p, "real", 0);
	memset(p->graphs, 0, sizeof(p->graphs));
	p->file->image.last_ticks = h->start_ticks;
	if (host)
		snprintf(h->host, sizeof(h->host), "%s", host);
	if (command)
		snprintf(h->cmdline, sizeof(h->cmdline), "%s", command);
	if (run)
		snprintf(h->run_id, sizeof(h->run_id), "%s", run);
	gst_image_seal(&p->file->image);
	c = gst_image_counters(&p->file->image);
	c->last_ticks = instant(p, "end");
	c->exited = number(p, "exited", 0);
	snprintf(p->file->name, sizeof(p->file->name), "%s-%u.gst", h->host, h->pid);
}

static void new_segment(struct parser *p, const char *name)
{
	struct gst_segment_header more = { .previous = GST_NONE };
	size_t i = 0;

	while (i < p->n_threads && p->thread_id[i] != p->tid)
		i++;
	more.recycles = (uint32_t)number(p, "recycles", 0);
	more.thread_seq = (uint32_t)number(p, "number", 0);
	if (i == NAMES || !gst_image_segment_as(&p->file->image, p->tid, name ? name : "thread", &more)) {
		p->bad = true;
		return;
	}
	p->thread_id[i] = p->tid;
	p->thread_segment[i] = p->file->image.segment;
	if (i == p->n_threads)
		p->n_threads++;
}

static void select_thread(struct parser *p)
{
	p->tid = p->n_words > 1 ? (uint32_t)strtoul(p->words[1], NULL, 0) : 0;
	for (size_t i = 0; i < p->n_threads; i++) {
		if (p->thread_id[i] == p->tid) {
			gst_image_select(&p->file->image, p->thread_segment[i]);
			return;
		}
	}
	new_segment(p, p->n_words > 2 ? p->words[2] : NULL);
}

/* `kept`: a segment for copies; `kept segment=0 recycles=1`: what follows was copied from that one. */
static void begin_kept(struct parser *p)
{
	const struct gst_segment_header more = { .previous = GST_NONE, .flags = GST_SEGMENT_KEPT };
	struct gst_kept r = { .segment = (uint32_t)number(p, "segment", 0),
			      .recycles = (uint32_t)number(p, "recycles", 0) };

	if (p->n_words > 1)
		add(p, GST_KEPT, &r, sizeof(r));
	else
		p->bad |= !gst_image_segment_as(&p->file->image, 0, "", &more);
}

static void add_busy(struct parser *p)
{
	uint64_t room[16] = { 0 };
	struct gst_busy *r = (void *)room;
	const char *streams = value_of(p, "streams");
	uint64_t end;

	span(p, &r->ticks, &end);
	while (streams && *streams && r->count < 24) {
		r->streams[r->count++] = (uint32_t)strtoul(streams, (char **)&streams, 10);
		streams += *streams == ',';
	}
	r->flags = (has_flag(p, "more") ? GST_BUSY_MORE : 0) | (has_flag(p, "left") ? GST_BUSY_LEFT : 0);
	add(p, GST_BUSY, r, sizeof(*r) + 4 * r->count);
}

static void set_recycled(struct parser *p)
{
	struct gst_counters *c = gst_image_counters(&p->file->image);

	c->recycled_until = instant(p, "until");
	c->segments_recycled = number(p, "segments", 1);
	c->records_recycled = number(p, "records", 4000);
	c->calls_recycled = number(p, "calls", 3900);
	c->definitions_lost = number(p, "lost", 0);
	c->limit_bytes = number(p, "limit", 1ull << 31);
	c->drop_errno = number(p, "errno", 0);
	gst_image_header(&p->file->image)->version = GST_VERSION_RECYCLED;
	gst_image_seal(&p->file->image);
}

static void set_dropped(struct parser *p)
{
	struct gst_counters *c = gst_image_counters(&p->file->image);

	c->records_dropped = p->n_words > 1 ? strtoull(p->words[1], NULL, 0) : 1;
	c->drop_first_ticks = instant(p, "first");
	c->drop_last_ticks = instant(p, "last");
	c->drop_errno = number(p, "errno", 0);
	c->dropped_disk = number(p, "disk", 0);
	c->dropped_limit = number(p, "limit", 0);
	c->dropped_busy = number(p, "busy", 0);
}

static void add_entry(struct parser *p)
{
	char text[96];

	snprintf(text, sizeof(text), "%s 13010 2", p->n_words > 1 ? p->words[1] : "");
	gst_image_counters(&p->file->image)->entry_points_unknown++;
	name_id(p, GST_SPACE_ENTRY, text);
}

static void add_device(struct parser *p)
{
	struct gst_device r = { .device = p->n_words > 1 ? (uint32_t)atoi(p->words[1]) : 0,
				.memory_bytes = 1ull << 34 };
	const char *name = value_of(p, "name");

	r.uuid[0] = (uint8_t)number(p, "uuid", r.device + 1);
	snprintf(r.name, sizeof(r.name), "%s", name ? name : "device");
	add(p, GST_DEVICE, &r, sizeof(r));
}

static void add_stream(struct parser *p)
{
	static const char *const kinds[] = { "created", "legacy", "per-thread", NULL };
	struct gst_stream r = { .id = p->n_words > 1 ? (uint32_t)atoi(p->words[1]) : 0,
				.device = (uint16_t)number(p, "device", 0),
				.kind = (uint16_t)choice(p, value_of(p, "kind"), kinds, 0),
				.context = number(p, "context", 7) };

	r.handle = 0x5000 + r.id;
	r.flags = (uint32_t)number(p, "flags", r.kind == GST_STREAM_CREATED);
	add(p, GST_STREAM, &r, sizeof(r));
}

struct family {
	const char *word;
	uint8_t family;
	uint8_t flags;
	const char *hook;
};

static const struct family families[] = {
	{ "launch", GST_FAMILY_LAUNCH, GST_SUBMISSION, "cuLaunchKernel" },
	{ "copy", GST_FAMILY_COPY, GST_SUBMISSION, "cuMemcpyAsync" },
	{ "memset", GST_FAMILY_MEMSET, GST_SUBMISSION, "cuMemsetD8Async" },
	{ "hostfn", GST_FAMILY_HOSTFN, GST_SUBMISSION, "cuLaunchHostFunc" },
	{ "graph", GST_FAMILY_GRAPH_LAUNCH, GST_SUBMISSION, "cuGraphLaunch" },
	{ "sync-stream", GST_FAMILY_SYNC_STREAM, 0, "cuStreamSynchronize" },
	{ "sync-context", GST_FAMILY_SYNC_CONTEXT, 0, "cuCtxSynchronize" },
	{ "sync-event", GST_FAMILY_SYNC_EVENT, 0, "cuEventSynchronize" },
	{ "query-stream", GST_FAMILY_QUERY_STREAM, 0, "cuStreamQuery" },
	{ "query-event", GST_FAMILY_QUERY_EVENT, 0, "cuEventQuery" },
	{ "record", GST_FAMILY_EVENT_RECORD, 0, "cuEventRecord" },
	{ "wait", GST_FAMILY_STREAM_WAIT, 0, "cuStreamWaitEvent" },
	{ "alloc", GST_FAMILY_ALLOC, 0, "cuMemAlloc_v2" },
	{ "free", GST_FAMILY_FREE, 0, "cuMemFree_v2" },
	{ "host-alloc", GST_FAMILY_HOST_ALLOC, 0, "cuMemHostAlloc" },
	{ "host-free", GST_FAMILY_HOST_FREE, 0, "cuMemFreeHost" },
	{ "pool", GST_FAMILY_POOL, 0, "cuMemAllocAsync" },
	{ "vmm", GST_FAMILY_VMM, 0, "cuMemCreate" },
	{ "module", GST_FAMILY_MODULE, 0, "cuModuleLoadData" },
	{ "context", GST_FAMILY_CONTEXT, 0, "cuCtxCreate_v2" },
	{ "event", GST_FAMILY_EVENT, 0, "cuEventCreate" },
	{ "change", GST_FAMILY_GRAPH_CHANGE, 0, "cuGraphExecKernelNodeSetParams_v2" },
	{ "memop", GST_FAMILY_MEMOP, 0, "cuStreamWaitValue32_v2" },
	{ "other", GST_FAMILY_OTHER, 0, "cuDeviceGetAttribute" },
};

static const char *const copy_kinds[] = { "unknown", "h2d-pageable", "h2d-pinned", "d2h-pageable", "d2h-pinned", "d2d",
					  "peer",    "h2h",          NULL };

static void add_call(struct parser *p, const struct family *f)
{
	const char *hook = value_of(p, "hook");
	struct gst_call r = { .seq = (uint32_t)number(p, "seq", 0),
			      .family = f->family,
			      .flags = f->flags,
			      .result = (int32_t)number(p, "result", 0),
			      .stream = (uint32_t)number(p, "stream", GST_NONE),
			      .device = (uint16_t)number(p, "device", 0) };

	span(p, &r.begin, &r.end);
	if (f->family == GST_FAMILY_COPY)
		r.detail = (uint16_t)choice(p, value_of(p, "kind"), copy_kinds, GST_COPY_UNKNOWN);
	r.flags |= has_flag(p, "blocking") ? GST_BLOCKING : 0;
	r.flags |= has_flag(p, "captured") ? GST_CAPTURED : 0;
	r.name = name_id(p, GST_SPACE_KERNEL, value_of(p, "kernel"));
	r.hook = (uint16_t)name_id(p, GST_SPACE_HOOK, hook ? hook : f->hook);
	r.args[0] = number(p, "event", number(p, "context", number(p, "pointer", 0)));
	r.args[1] = number(p, "bytes", 0);
	if (f->family == GST_FAMILY_COPY || f->family == GST_FAMILY_MEMSET) {
		r.args[0] = number(p, "bytes", 4096);
		r.args[1] = number(p, "pointer", 0);
	}
	if (f->family == GST_FAMILY_GRAPH_LAUNCH) {
		r.name = (uint32_t)number(p, "structure", 0);
		r.args[0] = number(p, "exec", 9);
	}
	if (f->family == GST_FAMILY_GRAPH_CHANGE) {
		r.seq = (uint32_t)number(p, "structure", 0);
		r.args[0] = number(p, "node", 0);
		r.detail = has_flag(p, "off") ? GST_CHANGE_OFF : has_flag(p, "on") ? GST_CHANGE_ON : 0;
	}
	add(p, GST_CALL, &r, sizeof(r));
}

/* The structure that a line's first word names. */
static struct gst_graph *graph_named(struct parser *p)
{
	unsigned long id = p->n_words > 1 ? strtoul(p->words[1], NULL, 0) : 0;

	p->bad |= id == 0 || id >= GRAPHS;
	p->graphs[id % GRAPHS].graph = (uint32_t)id;
	return &p->graphs[id % GRAPHS];
}

static void add_node(struct parser *p)
{
	static const char *const types[] = { "kernel", "copy", "memset", "host",        "child",
					     "empty",  "wait", "record", "signal",      "semaphore",
					     "alloc",  "free", "memop",  "conditional", NULL };
	struct gst_graph *g = graph_named(p);
	struct {
		struct gst_graph_list list;
		struct gst_graph_node node;
	} r = { .list = { .graph = g->graph, .count = 1 } };

	r.node.node = number(p, "handle", 0);
	r.node.parent = number(p, "parent", 0);
	r.node.arg = number(p, "event", number(p, "bytes", 0));
	r.node.type = (uint8_t)choice(p, value_of(p, "type"), types, 0);
	r.node.kind = (uint8_t)choice(p, value_of(p, "kind"), copy_kinds, GST_COPY_UNKNOWN);
	r.node.device = (uint8_t)(number(p, "device", UINT64_MAX) + 1);
	r.node.other = (uint8_t)(number(p, "other", UINT64_MAX) + 1);
	r.node.name = name_id(p, GST_SPACE_KERNEL, value_of(p, "kernel"));
	g->nodes++;
	g->described++;
	g->work += r.node.type <= 2;
	add(p, GST_GRAPH_NODES, &r, sizeof(r));
}

static void add_dependency(struct parser *p)
{
	struct gst_graph *g = graph_named(p);
	struct {
		struct gst_graph_list list;
		struct gst_graph_edge edge;
	} r = { .list = { .graph = g->graph, .count = 1 } };

	r.edge = (struct gst_graph_edge){ number(p, "from", 0), number(p, "to", 0) };
	g->edges++;
	add(p, GST_GRAPH_EDGES, &r, sizeof(r));
}

static void add_structure(struct parser *p)
{
	struct gst_graph r = *graph_named(p);
	uint64_t begin;

	span(p, &begin, &r.end);
	r.base = (uint32_t)number(p, "base", 0);
	r.exec = number(p, "exec", 9);
	r.nodes = (uint32_t)number(p, "nodes", r.nodes);
	r.work = (uint32_t)number(p, "work", r.work);
	r.described = (uint32_t)number(p, "described", r.described);
	r.edges = (uint32_t)number(p, "edges", r.edges);
	r.flags = (uint16_t)((has_flag(p, "open") ? GST_GRAPH_OPEN : 0) | (has_flag(p, "same") ? GST_GRAPH_SAME : 0) |
			     (has_flag(p, "no-edges") ? GST_GRAPH_NO_EDGES : 0));
	add(p, GST_GRAPH, &r, sizeof(r));
}

static void add_edge(struct parser *p)
{
	static const char *const kinds[] = { "", "block", "start", "class", "before", "after", NULL };
	struct gst_edge r = { .edge = p->n_words > 1 ? (uint32_t)atoi(p->words[1]) : 0,
			      .stream = (uint32_t)number(p, "stream", 0),
			      .covers = (uint32_t)number(p, "covers", 0),
			      .device = (uint16_t)number(p, "device", 0),
			      .kind = (uint16_t)choice(p, value_of(p, "kind"), kinds, GST_EDGE_BLOCK),
			      .tid = p->tid };
	double device_ns = (double)instant(p, "fired") * (1 + p->drift);

	span(p, &r.begin, &r.end);
	if (r.edge == 0 || r.edge >= EDGES) {
		p->bad = true;
		return;
	}
	r.base = (uint32_t)number(p, "base", p->first_edge ? p->first_edge : r.edge);
	r.done = instant(p, "done");
	if (!p->first_edge)
		p->first_edge = r.edge;
	p->fired_ms[r.edge] = floor(device_ns / 500) * 500 / 1e6;
	if (r.base < EDGES && value_of(p, "fired"))
		r.elapsed_ms = (float)(p->fired_ms[r.edge] - p->fired_ms[r.base]);
	add(p, GST_EDGE, &r, sizeof(r));
}

static void add_poll(struct parser *p)
{
	struct gst_poll r = { .stream = (uint32_t)number(p, "stream", 0),
			      .covers = (uint32_t)number(p, "covers", 0),
			      .ready = (uint32_t)number(p, "ready", 0) };

	span(p, &r.begin, &r.end);
	add(p, GST_POLL, &r, sizeof(r));
}

static void add_sample(struct parser *p)
{
	static const char *const kinds[] = { "none", "file", "pipe", "socket", "other", NULL };
	const char *state = value_of(p, "state");
	struct gst_sample r = { .tid = (uint32_t)number(p, "tid", p->tid),
				.arg = number(p, "arg", 0),
				.fd_kind = (uint16_t)choice(p, value_of(p, "fd"), kinds, GST_FD_NONE),
				.state = state ? *state : 'S' };
	const char *number_text = value_of(p, "syscall");
	uint64_t end;

	r.syscall = number_text ? atoi(number_text) : -3;
	span(p, &r.ticks, &end);
	r.file = name_id(p, GST_SPACE_FILE, value_of(p, "file"));
	add(p, GST_SAMPLE, &r, sizeof(r));
}

static void add_usage(struct parser *p)
{
	struct gst_usage r = { .cpu_ns = duration(p, "cpu", 0),
			       .run_delay_ns = duration(p, "delay", 0),
			       .voluntary = (uint32_t)number(p, "voluntary", 0),
			       .involuntary = (uint32_t)number(p, "involuntary", 0),
			       .major_faults = (uint32_t)number(p, "faults", 0) };
	uint64_t end;

	span(p, &r.ticks, &end);
	add(p, GST_USAGE, &r, sizeof(r));
}

/* The kind's name in format.h, in small letters with dashes. */
static bool kind_is(const char *word, const char *name)
{
	for (; *word && *name; word++, name++)
		if (*word != (*name == '_' ? '-' : *name + ('a' - 'A')))
			return false;
	return !*word && !*name;
}

static uint8_t nccl_kind(struct parser *p, const char *word)
{
#define KIND(name, value)         \
	if (kind_is(word, #name)) \
		return value;
	GST_NCCL_KINDS(KIND)
	p->bad = true;
	return GST_NCCL_OTHER;
}

static void add_comm(struct parser *p)
{
	static const char *const how[] = { "init", "split", "shrink", "grow", NULL };
	const char *name = value_of(p, "name");
	struct gst_comm r = { .comm = p->n_words > 1 ? (uint32_t)atoi(p->words[1]) : 0,
			      .hash = number(p, "hash", 0),
			      .also = number(p, "also", 0),
			      .parent = (uint32_t)number(p, "parent", 0),
			      .rank = (uint32_t)number(p, "rank", GST_NONE),
			      .size = (uint32_t)number(p, "size", GST_NONE),
			      .version = (uint32_t)number(p, "version", 22809),
			      .device = (uint16_t)number(p, "device", 0),
			      .made = (uint8_t)(GST_NCCL_INIT + choice(p, value_of(p, "made"), how, 0)) };
	uint64_t end;

	span(p, &r.ticks, &end);
	r.flags = (uint8_t)((has_flag(p, "nonblocking") ? GST_COMM_NONBLOCKING : 0) |
			    (has_flag(p, "all") ? GST_COMM_ALL : 0));
	r.library = name_id(p, GST_SPACE_LIBRARY, value_of(p, "library"));
	if (name)
		p->bad |= gst_image_name(&p->file->image, GST_SPACE_COMM, r.comm, name, strlen(name)) == 0;
	add(p, GST_COMM, &r, sizeof(r));
}

static void add_nccl(struct parser *p)
{
	static const char *const types[] = { "int8",        "uint8",       "int32",   "uint32",  "int64",
					     "uint64",      "float16",     "float32", "float64", "bfloat16",
					     "float8_e4m3", "float8_e5m2", NULL };
	static const char *const ops[] = { "sum", "prod", "max", "min", "avg", NULL };
	const char *hook = value_of(p, "hook");
	struct gst_nccl r = { .comm = (uint32_t)number(p, "comm", 0),
			      .kind = nccl_kind(p, p->n_words > 1 ? p->words[1] : ""),
			      .flags = (uint8_t)((has_flag(p, "inner") ? GST_NCCL_INNER : 0) |
						 (has_flag(p, "ours") ? GST_NCCL_OURS : 0)),
			      .result = (int32_t)number(p, "result", 0),
			      .stream = (uint32_t)number(p, "stream", GST_NONE),
			      .group = (uint32_t)number(p, "group", 0),
			      .seq = (uint32_t)number(p, "seq", 0),
			      .peer = (int32_t)number(p, "peer", UINT32_MAX),
			      .op = (uint16_t)choice(p, value_of(p, "op"), ops, 0xffff),
			      .datatype = (uint8_t)choice(p, value_of(p, "type"), types, 0xff) };

	span(p, &r.begin, &r.end);
	r.count = number(p, "count", 0);
	if (value_of(p, "opened"))
		r.count = instant(p, "opened");
	r.hook = (uint16_t)name_id(p, GST_SPACE_NCCL, hook ? hook : p->words[1]);
	p->bad |= r.hook >= GST_NCCL_MAX;
	add(p, GST_NCCL, &r, sizeof(r));
}

/* ---- lines ------------------------------------------------------------------------------------------ */

static void add_event(struct parser *p)
{
	const char *word = p->words[0];

	if (strcmp(word, "process") == 0) {
		begin_process(p);
		return;
	}
	if (!p->file) {
		p->bad = true;
		return;
	}
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		if (strcmp(word, families[i].word) == 0) {
			add_call(p, &families[i]);
			return;
		}
	}
	if (strcmp(word, "thread") == 0)
		select_thread(p);
	else if (strcmp(word, "segment") == 0)
		new_segment(p, NULL);
	else if (strcmp(word, "device") == 0)
		add_device(p);
	else if (strcmp(word, "stream") == 0)
		add_stream(p);
	else if (strcmp(word, "node") == 0)
		add_node(p);
	else if (strcmp(word, "depends") == 0)
		add_dependency(p);
	else if (strcmp(word, "structure") == 0)
		add_structure(p);
	else if (strcmp(word, "edge") == 0)
		add_edge(p);
	else if (strcmp(word, "poll") == 0)
		add_poll(p);
	else if (strcmp(word, "sample") == 0)
		add_sample(p);
	else if (strcmp(word, "usage") == 0)
		add_usage(p);
	else if (strcmp(word, "comm") == 0)
		add_comm(p);
	else if (strcmp(word, "nccl") == 0)
		add_nccl(p);
	else if (strcmp(word, "drop") == 0)
		set_dropped(p);
	else if (strcmp(word, "recycled") == 0)
		set_recycled(p);
	else if (strcmp(word, "busy") == 0)
		add_busy(p);
	else if (strcmp(word, "kept") == 0)
		begin_kept(p);
	else if (strcmp(word, "entry") == 0)
		add_entry(p);
	else if (strcmp(word, "unfinished") == 0)
		p->unfinished = true;
	else
		p->bad = true;
}

static bool parse_line(struct parser *p, char *line)
{
	char *save = NULL;

	line[strcspn(line, "#\n")] = '\0';
	p->n_words = 0;
	for (char *word = strtok_r(line, " \t", &save); word && p->n_words < WORDS; word = strtok_r(NULL, " \t", &save))
		p->words[p->n_words++] = word;
	p->bad = false;
	if (p->n_words)
		add_event(p);
	return !p->bad;
}

bool gst_text_parse(struct gst_text *out, const char *text, char error[256])
{
	struct parser *p = calloc(1, sizeof(*p));
	char *copy = strdup(text), *save = NULL;
	bool ok = p && copy;
	int number_of_line = 0;

	*out = (struct gst_text){ 0 };
	snprintf(error, 256, "out of memory");
	if (p)
		p->out = out;
	for (char *line = copy; ok && line; line = save) {
		char shown[120];

		save = strchr(line, '\n');
		if (save)
			*save++ = '\0';
		number_of_line++;
		snprintf(shown, sizeof(shown), "%s", line);
		ok = parse_line(p, line);
		if (!ok)
			snprintf(error, 256, "line %d: %s", number_of_line, shown);
	}
	free(p);
	free(copy);
	if (!ok)
		gst_text_free(out);
	return ok;
}

void gst_text_free(struct gst_text *t)
{
	for (size_t i = 0; i < t->n; i++)
		gst_image_free(&t->files[i].image);
	free(t->files);
	*t = (struct gst_text){ 0 };
}
