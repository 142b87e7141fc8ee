/* SPDX-License-Identifier: BSD-2-Clause */
#include "run_files_parts.h"

#include "pack/pack_read.h"
#include "read/reader.h"
#include "tools/alloc.h"
#include "tools/progress.h"
#include "trace/same_clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum err_kind run_files_no_memory(struct error *e)
{
	return err_no_memory(e, "");
}

bool run_files_ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

bool run_files_have(const struct run_files *files, const struct stat *st)
{
	for (size_t i = 0; i < files->n; i++)
		if (files->at[i].dev == st->st_dev && files->at[i].ino == st->st_ino)
			return true;
	for (size_t i = 0; i < files->n_hosts; i++)
		if (files->hosts[i].dev == st->st_dev && files->hosts[i].ino == st->st_ino)
			return true;
	return false;
}

static bool same_recording(const struct gst_file_header *a, const struct gst_file_header *b)
{
	return a->kind == b->kind && a->pid == b->pid && a->pid_ns == b->pid_ns && a->start_ticks == b->start_ticks &&
	       a->start_real_ns == b->start_real_ns && strcmp(a->host, b->host) == 0;
}

/* An archive may lie beside what it was made of. */
static bool there_as_well(const struct run_files *files, const struct gst_file_header *h, bool packed)
{
	for (size_t i = 0; i < files->n; i++)
		if ((packed || files->at[i].packed) && same_recording(&files->at[i].header, h))
			return true;
	for (size_t i = 0; i < files->n_hosts; i++)
		if ((packed || files->hosts[i].packed) && same_recording(&files->hosts[i].header, h))
			return true;
	return false;
}

/* One clock has one distance from the time of day: that of the first file found of it. */
static int64_t to_wall(const struct run_files *files, const struct gst_file_header *h)
{
	if (!h->start_real_ns)
		return 0;
	for (size_t i = 0; i < files->n; i++)
		if (files->at[i].header.start_real_ns && same_clock(&files->at[i].header, h))
			return files->at[i].to_wall_ns;
	return (int64_t)(h->start_real_ns - h->start_mono_ns);
}

static enum err_kind add_host(struct run_files *files, const char *path, const struct gst_file_header *header,
			      const struct stat *st, bool packed, struct error *e)
{
	struct run_host *h;

	if (!array_room(files->hosts, files->n_hosts, files->hosts_cap))
		return run_files_no_memory(e);
	h = &files->hosts[files->n_hosts];
	*h = (struct run_host){ .path = strdup(path),
				.header = *header,
				.bytes = (uint64_t)st->st_size,
				.dev = st->st_dev,
				.ino = st->st_ino,
				.packed = packed };
	if (!h->path)
		return run_files_no_memory(e);
	files->n_hosts++;
	return ERR_NONE;
}

static enum err_kind add_process(struct run_files *files, const char *path, const struct gst_file_header *header,
				 const struct stat *st, bool packed, struct error *e)
{
	struct run_file *f;

	if (!array_room(files->at, files->n, files->cap))
		return run_files_no_memory(e);
	f = &files->at[files->n];
	*f = (struct run_file){ .path = strdup(path),
				.header = *header,
				.bytes = (uint64_t)st->st_size,
				.dev = st->st_dev,
				.ino = st->st_ino,
				.packed = packed };
	if (!f->path)
		return run_files_no_memory(e);
	f->to_wall_ns = to_wall(files, header);
	files->n++;
	return ERR_NONE;
}

/* One process of another tool's trace; it takes the trace over, come what may. */
static enum err_kind add_imported(struct run_files *files, const char *path, struct trace *t, const struct stat *st,
				  struct error *e)
{
	struct run_file *f = array_room(files->at, files->n, files->cap) ? &files->at[files->n] : NULL;
	char *copy = f ? strdup(path) : NULL;

	if (!copy) {
		trace_free(t);
		return run_files_no_memory(e);
	}
	*f = (struct run_file){ .path = copy, .header = t->header, .trace = t, .dev = st->st_dev, .ino = st->st_ino };
	f->to_wall_ns = to_wall(files, &t->header);
	files->n++;
	files->n_imported++;
	return ERR_NONE;
}

/* "t.json" and "t.json.gz", in either order. */
static bool is_packed_twin(const char *path, const char *other)
{
	size_t n = strlen(path), m = strlen(other);
	const char *longer = n > m ? path : other;
	size_t shorter = n > m ? m : n;

	return n != m && memcmp(path, other, shorter) == 0 && strcmp(longer + shorter, ".gz") == 0;
}

/* The same process of a file that is there packed and unpacked; NULL none. */
static struct trace *twin_of(const struct run_files *files, const char *path, const struct trace *t)
{
	for (size_t i = 0; i < files->n; i++) {
		struct trace *u = files->at[i].trace;

		if (u && u->imported && is_packed_twin(path, files->at[i].path) && u->header.pid == t->header.pid &&
		    u->begin_ns == t->begin_ns && u->end_ns == t->end_ns && u->records == t->records &&
		    u->n_calls == t->n_calls && u->n_measured == t->n_measured)
			return u;
	}
	return NULL;
}

bool run_files_warn(struct trace *t, const char *format, ...)
{
	struct imported *m = t->imported;
	char **larger = realloc(m->warnings, (m->n_warnings + 1) * sizeof(*larger));
	va_list args;
	int n;

	if (!larger)
		return false;
	m->warnings = larger;
	va_start(args, format);
	n = vasprintf(&larger[m->n_warnings], format, args);
	va_end(args);
	m->n_warnings += n >= 0;
	return n >= 0;
}

/* False: not all of it is there. */
static bool there_packed_as_well(const struct run_files *files, const char *path, struct trace *const *traces, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!twin_of(files, path, traces[i]))
			return false;
	return n > 0;
}

enum err_kind run_files_import(struct run_files *files, const char *path, enum import_format format,
			       const struct stat *st, struct error *e)
{
	struct trace **traces;
	enum err_kind kind;
	bool twins;
	size_t n;

	progress_begin(PROGRESS_READ, (uint64_t)st->st_size);
	kind = import_open(&traces, &n, path, format, e);
	twins = !kind && there_packed_as_well(files, path, traces, n);
	if (twins &&
	    !run_files_warn(twin_of(files, path, traces[0]), "%s holds the same trace, which is taken once", path))
		kind = run_files_no_memory(e);
	for (size_t i = 0; i < n; i++)
		if (!kind && !twins)
			kind = add_imported(files, path, traces[i], st, e);
		else
			trace_free(traces[i]);
	free(traces);
	return kind;
}

/* Of a run that was chosen by its id; and what is there twice is taken once. */
static enum err_kind add_recording(struct run_files *files, const char *path, const struct gst_file_header *header,
				   const struct stat *st, bool packed, struct error *e)
{
	if (files->only_id && strcmp(header->run_id, files->only_id) != 0 &&
	    (header->kind != GST_FILE_HOST || header->run_id[0]))
		return ERR_NONE;
	if (there_as_well(files, header, packed))
		return ERR_NONE;
	return header->kind == GST_FILE_HOST ? add_host(files, path, header, st, packed, e)
					     : add_process(files, path, header, st, packed, e);
}

static enum err_kind add_member(struct run_files *files, struct pack_file *archive, size_t i, const char *path,
				const struct stat *st, struct error *e)
{
	struct pack_member m = pack_member(archive, i);
	struct stat as = *st;
	struct reader *reader = NULL;
	uint8_t *front = NULL;
	char *name = NULL;
	size_t n = 0;
	enum err_kind kind = pack_front(archive, i, &front, &n, e);

	if (!kind && asprintf(&name, "%s/%s", path, m.name) < 0) {
		name = NULL;
		kind = run_files_no_memory(e);
	}
	if (!kind)
		kind = reader_open_mem(&reader, front, n, name, e);
	as.st_size = (off_t)m.length;
	if (!kind)
		kind = add_recording(files, name, reader_header(reader), &as, true, e);
	reader_free(reader);
	free(front);
	free(name);
	return kind;
}

/* An archive is read only if each of its bytes is what was written. */
static enum err_kind add_archive(struct run_files *files, const char *path, const struct stat *st, struct error *e)
{
	struct pack_file *archive;
	enum err_kind kind = pack_open(&archive, path, e);

	if (kind)
		return kind;
	kind = pack_check(archive, e);
	for (size_t i = 0; i < pack_members(archive) && !kind; i++)
		kind = add_member(files, archive, i, path, st, e);
	pack_close(archive);
	return kind;
}

/* What is not ours by its first bytes is something that we might read: it says what is. */
static enum err_kind not_read(const char *path, struct error *e)
{
	char magic[sizeof(GST_MAGIC) - 1];
	FILE *file = run_files_ends_with(path, ".gst") ? NULL : fopen(path, "rbe");
	size_t n = file ? fread(magic, 1, sizeof(magic), file) : 0;

	if (file)
		fclose(file);
	if (!file || (n == sizeof(magic) && memcmp(magic, GST_MAGIC, n) == 0))
		return e->kind;
	return err_set(e, ERR_FORMAT, path, 0, "%s",
		       run_files_ends_with(path, ".nsys-rep") || run_files_ends_with(path, ".qdrep")
			       ? "Nsight's own format is not read: `nsys export --type=sqlite` makes of it what is"
			       : "not a gpushim trace, nor another that is read: .gst, .gpk, Kineto's .json and "
				 ".json.gz, Nsight's .sqlite (`nsys export --type=sqlite`)");
}

enum err_kind run_files_add_file(struct run_files *files, const char *path, struct error *e)
{
	enum import_format format = IMPORT_NONE;
	struct gst_file_header header;
	struct stat st;
	enum err_kind kind;

	if (stat(path, &st) != 0)
		return files->only_id ? ERR_NONE : err_cannot_open(e, path);
	if (run_files_have(files, &st))
		return ERR_NONE;
	if (pack_is(path))
		return add_archive(files, path, &st, e);
	if (!files->only_id && (kind = import_sniff(&format, path, e)))
		return kind;
	if (format != IMPORT_NONE)
		return run_files_import(files, path, format, &st, e);
	kind = reader_read_header(&header, path, e);
	if (files->only_id && kind == ERR_SYSTEM && run_files_ends_with(path, ".host.gst") && st.st_uid != geteuid())
		return ERR_NONE; /* a run's own collector writes as its own user */
	if (kind)
		return files->only_id && kind != ERR_SYSTEM ? ERR_NONE : kind == ERR_FORMAT ? not_read(path, e) : kind;
	return add_recording(files, path, &header, &st, false, e);
}

bool run_files_without_host(struct run_files *files, const char *path, const char *run_id, struct error *why)
{
	struct run_missing m = { .begin_real_ns = INT64_MAX, .host = true };

	if (err_is_no_memory(why))
		return false;
	if (files->only_id && !*run_id && why->kind != ERR_SYSTEM)
		return true; /* none of that run's; but of what the machine refuses nobody knows */
	if (asprintf(&m.text, "the host probes in %s are not used: %s", path, why->text) < 0)
		m.text = NULL;
	if (!m.text || !array_room(files->missing, files->n_missing, files->missing_cap)) {
		free(m.text);
		run_files_no_memory(why);
		return false;
	}
	snprintf(m.run_id, sizeof(m.run_id), "%s", run_id);
	files->missing[files->n_missing++] = m;
	return true;
}

enum err_kind run_files_add(struct run_files *files, const char *path, struct error *e)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return files->only_id && errno == ENOENT ? ERR_NONE : err_cannot_open(e, path);
	return S_ISDIR(st.st_mode) ? run_files_add_directory(files, path, e) : run_files_add_file(files, path, e);
}

void run_missing_free(struct run_missing *missing, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(missing[i].text);
	free(missing);
}

void run_files_free(struct run_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		free(files->at[i].path);
		trace_free(files->at[i].trace);
	}
	for (size_t i = 0; i < files->n_hosts; i++) {
		free(files->hosts[i].path);
		host_trace_free(files->hosts[i].trace);
	}
	free(files->at);
	free(files->hosts);
	run_missing_free(files->missing, files->n_missing);
	*files = (struct run_files){ 0 };
}
