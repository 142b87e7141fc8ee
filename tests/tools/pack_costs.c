/* SPDX-License-Identifier: BSD-2-Clause */
/* pack_costs FILE.gst: what of a packed recording takes the room, and how long it takes, beside zstd and a copy of the same bytes in the same run.
 * One JSON object: for scripts/bench-pack. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <zstd.h>

#include "pack/pack_format.h"
#include "pack/pack_model.h"
#include "pack/pack_read.h"
#include "pack/pack_write.h"
#include "tools/alloc.h"

#define GRAPHS 4096

static const struct {
	const char *record, *field;
} fields[] = {
#define FIELD(type, record, member, kind) { #record, #member },
#include "pack/pack_fields.def"
#undef FIELD
};
static const char *const uses[] = { "order of records",          "shapes",
				    "segment headers",           "off the clock's steps",
				    "gst_stack frames foreseen", "gst_stack frames next",
				    "gst_stack frames known",    "gst_stack frames kind",
				    "gst_stack frames of",       "gst_stack frames at",
				    "text and what has no rows", "rounded bits" };

struct file {
	uint8_t *bytes;
	size_t n;
	uint64_t records, calls, launches, operations; /* operations: with a graph's nodes, copies and clears */
	uint32_t work[GRAPHS];                         /* of each structure of a graph */
};

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool load(struct file *f, const char *path)
{
	FILE *in = fopen(path, "rb");
	struct stat st;
	bool ok = in && fstat(fileno(in), &st) == 0;

	f->n = ok ? (size_t)st.st_size : 0;
	f->bytes = array_new(f->n + 1, 1);
	ok = ok && f->bytes && fread(f->bytes, 1, f->n, in) == f->n && f->n > GST_SEGMENTS_OFFSET;
	if (in)
		fclose(in);
	return ok;
}

/* ---- what is in it ---- */

static void count_call(struct file *f, const struct gst_call *c)
{
	f->calls++;
	if (c->flags & GST_CAPTURED || c->result)
		return;
	f->launches += c->family == GST_FAMILY_LAUNCH || c->family == GST_FAMILY_GRAPH_LAUNCH;
	if (c->family == GST_FAMILY_GRAPH_LAUNCH)
		f->operations += f->work[c->name % GRAPHS];
	else
		f->operations += c->family == GST_FAMILY_LAUNCH || c->family == GST_FAMILY_COPY ||
				 c->family == GST_FAMILY_MEMSET;
}

static void count_segment(struct file *f, const uint8_t *segment)
{
	uint32_t at = sizeof(struct gst_segment_header);

	while (at + sizeof(struct gst_record) <= GST_SEGMENT_BYTES) {
		struct gst_record h;

		memcpy(&h, segment + at, sizeof(h));
		if (h.size < sizeof(h) || h.size > GST_SEGMENT_BYTES - at)
			return;
		f->records++;
		if (h.type == GST_CALL && h.size == sizeof(struct gst_call))
			count_call(f, (const struct gst_call *)(const void *)(segment + at));
		if (h.type == GST_GRAPH && h.size == sizeof(struct gst_graph)) {
			const struct gst_graph *g = (const struct gst_graph *)(const void *)(segment + at);

			f->work[g->graph % GRAPHS] = g->work;
		}
		at += h.size;
	}
}

/* ---- what it takes ---- */

/* Archives in memory hold less than the file, mostly. */
struct taken {
	size_t archive, names, plain;
	double pack_s, unpack_s, copy_s, zstd3_s, zstd19_s;
	size_t zstd3, zstd19;
	size_t columns[PACK_USE_END]; /* bytes each takes where it is packed by itself */
};

static size_t zstd(const uint8_t *bytes, size_t n, int level, double *took)
{
	size_t room = ZSTD_compressBound(n), size;
	uint8_t *to = malloc(room);
	double begin = cpu_s();

	size = to && n ? ZSTD_compress(to, room, bytes, n, level) : 0;
	*took = cpu_s() - begin;
	free(to);
	return size;
}

/* What each column takes: of a block by itself, for what stands before makes some of it cheaper. */
static bool columns_of(const struct file *f, struct pack_model *m, struct taken *out)
{
	double took;

	for (size_t at = GST_SEGMENTS_OFFSET; at < f->n;) {
		size_t end = at + PACK_BLOCK_BYTES < f->n ? at + PACK_BLOCK_BYTES : f->n;

		pack_columns_pack(&m->columns);
		pack_model_begin(m);
		for (; at < end; at += GST_SEGMENT_BYTES)
			if (!pack_model_segment(
				    m, f->bytes + at,
				    (uint32_t)(end - at < GST_SEGMENT_BYTES ? end - at : GST_SEGMENT_BYTES)))
				return false;
		for (unsigned i = 0; i < PACK_USE_END; i++) {
			const struct pack_column *c = &m->columns.at[i];

			out->columns[i] += zstd(c->bytes, c->n, PACK_LEVEL, &took) + (c->bits + 7) / 8;
		}
		at = end;
	}
	out->names = out->columns[PACK_USE_PLAIN];
	return true;
}

static bool pack_all(const char *path, char **archive, size_t *n)
{
	FILE *to = open_memstream(archive, n);
	struct pack_writer *w = to ? pack_writer_new(to) : NULL;
	struct error e;
	bool ok = w && pack_write(w, path, "x.gst", &e) == ERR_NONE && pack_write_end(w, &e) == ERR_NONE;

	pack_writer_free(w);
	return to && fclose(to) == 0 && ok;
}

struct again {
	const struct file *f;
	bool same;
};

static bool compare(void *to, const uint8_t *bytes, size_t n, uint64_t at, struct error *e)
{
	struct again *a = to;

	(void)e;
	a->same &= at + n <= a->f->n && memcmp(a->f->bytes + at, bytes, n) == 0;
	return true;
}

static bool unpack_all(const struct file *f, const char *archive, size_t n)
{
	struct again a = { f, true };
	struct pack_file *p;
	struct error e;
	bool ok = pack_open_mem(&p, archive, n, "x.gpk", &e) == ERR_NONE;

	ok = ok && pack_unpack(p, 0, compare, &a, &e) == ERR_NONE;
	pack_close(p);
	return ok && a.same;
}

static bool measure(const char *path, const struct file *f, struct taken *out)
{
	char *archive = NULL, *copy = array_new(f->n, 1);
	double begin = cpu_s();
	bool ok = copy && pack_all(path, &archive, &out->archive);

	out->pack_s = cpu_s() - begin;
	begin = cpu_s();
	ok = ok && unpack_all(f, archive, out->archive);
	out->unpack_s = cpu_s() - begin;
	begin = cpu_s();
	if (ok)
		memcpy(copy, f->bytes, f->n);
	out->copy_s = cpu_s() - begin;
	free(archive);
	free(copy);
	out->zstd3 = zstd(f->bytes, f->n, 3, &out->zstd3_s);
	out->zstd19 = zstd(f->bytes, f->n, 19, &out->zstd19_s);
	return ok;
}

static void say_columns(const struct taken *t)
{
	for (unsigned i = 0, any = 0; i < PACK_USE_END; i++) {
		size_t bytes = t->columns[i];

		if (i >= PACK_FIELDS_MOST && i < 2 * PACK_FIELDS_MOST)
			continue;
		if (i < PACK_FIELDS_MOST)
			bytes += t->columns[PACK_FIELDS_MOST + i];
		if (!bytes || i == PACK_USE_PLAIN)
			continue;
		printf(any++ ? ", " : "");
		if (i < sizeof(fields) / sizeof(fields[0]))
			printf("\"%s.%s\": %zu", fields[i].record, fields[i].field, bytes);
		else
			printf("\"%s\": %zu", uses[i - 2 * PACK_FIELDS_MOST], bytes);
	}
}

static void say(const struct file *f, const struct taken *t, const struct pack_clock *clock)
{
	printf("{\"bytes\": %zu, \"records\": %llu, \"calls\": %llu, \"launches\": %llu, \"operations\": %llu, \"step\": %.9g, \"pace\": %.9g,\n",
	       f->n, (unsigned long long)f->records, (unsigned long long)f->calls, (unsigned long long)f->launches,
	       (unsigned long long)f->operations, (double)clock->step / 4294967296.0,
	       (double)clock->pace / 4294967296.0);
	printf(" \"archive\": %zu, \"names\": %zu, \"zstd3\": %zu, \"zstd19\": %zu,\n", t->archive, t->names, t->zstd3,
	       t->zstd19);
	printf(" \"pack_s\": %.6f, \"unpack_s\": %.6f, \"copy_s\": %.6f, \"zstd3_s\": %.6f, \"zstd19_s\": %.6f,\n \"fields\": {",
	       t->pack_s, t->unpack_s, t->copy_s, t->zstd3_s, t->zstd19_s);
	say_columns(t);
	puts("}}");
}

int main(int argc, char **argv)
{
	static struct file f;
	struct reader_file file = { .fd = -1 };
	struct gst_file_header h;
	struct pack_model m;
	struct pack_clock clock;
	struct taken taken = { 0 };

	if (argc != 2 || !load(&f, argv[1])) {
		fprintf(stderr, "usage: pack_costs FILE.gst\n");
		return 2;
	}
	for (size_t at = GST_SEGMENTS_OFFSET; at + GST_SEGMENT_BYTES <= f.n; at += GST_SEGMENT_BYTES)
		count_segment(&f, f.bytes + at);
	memcpy(&h, f.bytes, sizeof(h));
	file.bytes = f.bytes;
	file.len = f.n;
	if (!pack_clock_find(&clock, &file) || !measure(argv[1], &f, &taken) || !pack_model_new(&m, h.kind, clock) ||
	    !columns_of(&f, &m, &taken)) {
		fprintf(stderr, "pack_costs: %s cannot be packed\n", argv[1]);
		return 4;
	}
	say(&f, &taken, &clock);
	pack_model_free(&m);
	free(f.bytes);
	return 0;
}
