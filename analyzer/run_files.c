/* SPDX-License-Identifier: BSD-2-Clause */
#include "run_files.h"

#include "alloc.h"
#include "reader.h"
#include "same_clock.h"
#include "staged.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 3                   /* to see a directory as it is at one time */
#define NO_MEMORY "out of memory" /* as every part of the library says it */

static enum err_kind no_memory(struct error *e)
{
	return err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, NO_MEMORY);
}

/* What is not there is bad input, like what is there and no trace; anything else is the system's doing. */
static enum err_kind cannot_open(const char *path, struct error *e)
{
	return err_set(e, errno == ENOENT || errno == ENOTDIR ? ERR_FORMAT : ERR_SYSTEM, path, ERR_NO_BYTE,
		       "cannot open: %s", strerror(errno));
}

static bool already_there(const struct run_files *files, const struct stat *st)
{
	for (size_t i = 0; i < files->n; i++)
		if (files->at[i].dev == st->st_dev && files->at[i].ino == st->st_ino)
			return true;
	for (size_t i = 0; i < files->n_hosts; i++)
		if (files->hosts[i].dev == st->st_dev && files->hosts[i].ino == st->st_ino)
			return true;
	return false;
}

static enum err_kind read_header(const char *path, struct gst_file_header *out, struct error *e)
{
	struct reader *reader;
	enum err_kind kind = reader_open(&reader, path, e);

	if (kind)
		return kind;
	*out = *reader_header(reader);
	reader_free(reader);
	return ERR_NONE;
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
			      const struct stat *st, struct error *e)
{
	struct run_host *h;

	if (!array_room(files->hosts, files->n_hosts, files->hosts_cap))
		return no_memory(e);
	h = &files->hosts[files->n_hosts];
	*h = (struct run_host){ .path = strdup(path),
				.header = *header,
				.bytes = (uint64_t)st->st_size,
				.dev = st->st_dev,
				.ino = st->st_ino };
	if (!h->path)
		return no_memory(e);
	files->n_hosts++;
	return ERR_NONE;
}

static enum err_kind add_process(struct run_files *files, const char *path, const struct gst_file_header *header,
				 const struct stat *st, struct error *e)
{
	struct run_file *f;

	if (!array_room(files->at, files->n, files->cap))
		return no_memory(e);
	f = &files->at[files->n];
	*f = (struct run_file){ .path = strdup(path),
				.header = *header,
				.bytes = (uint64_t)st->st_size,
				.dev = st->st_dev,
				.ino = st->st_ino };
	if (!f->path)
		return no_memory(e);
	f->to_wall_ns = to_wall(files, header);
	files->n++;
	return ERR_NONE;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

static enum err_kind add_file(struct run_files *files, const char *path, struct error *e)
{
	struct gst_file_header header;
	struct stat st;
	enum err_kind kind;

	if (stat(path, &st) != 0)
		return files->only_id ? ERR_NONE : cannot_open(path, e);
	if (already_there(files, &st))
		return ERR_NONE;
	kind = read_header(path, &header, e);
	if (files->only_id && kind == ERR_SYSTEM && ends_with(path, ".host.gst") && st.st_uid != geteuid())
		return ERR_NONE; /* a run's own collector writes as its own user */
	if (files->only_id && (kind || (strcmp(header.run_id, files->only_id) != 0 &&
					(header.kind != GST_FILE_HOST || header.run_id[0]))))
		return kind == ERR_SYSTEM ? kind : ERR_NONE;
	if (kind)
		return kind;
	return header.kind == GST_FILE_HOST ? add_host(files, path, &header, &st, e)
					    : add_process(files, path, &header, &st, e);
}

/* Files of host probes carry the same suffix and more. */
static int is_trace(const struct dirent *d)
{
	return d->d_name[0] != '.' && ends_with(d->d_name, ".gst");
}

static int is_note(const struct dirent *d)
{
	return d->d_name[0] != '.' && ends_with(d->d_name, STAGED_END);
}

/* A move that was interrupted leaves the trace in both places. */
static bool trace_is_there(const struct run_files *files, const struct staged *s)
{
	for (size_t i = 0; i < files->n; i++) {
		const struct gst_file_header *h = &files->at[i].header;

		if (h->pid == s->pid && h->start_ticks == s->start_ticks &&
		    h->start_real_ns == (uint64_t)s->begin_real_ns)
			return true;
	}
	return false;
}

bool run_files_without_host(struct run_files *files, const char *path, const char *run_id, struct error *why)
{
	struct run_missing m = { .begin_real_ns = INT64_MAX, .host = true };

	if (strcmp(why->text, NO_MEMORY) == 0)
		return false;
	if (files->only_id && !*run_id && why->kind != ERR_SYSTEM)
		return true; /* none of that run's; but of what the machine refuses nobody knows */
	if (asprintf(&m.text, "the host probes in %s are not used: %s", path, why->text) < 0)
		m.text = NULL;
	if (!m.text || !array_room(files->missing, files->n_missing, files->missing_cap)) {
		free(m.text);
		no_memory(why);
		return false;
	}
	snprintf(m.run_id, sizeof(m.run_id), "%s", run_id);
	files->missing[files->n_missing++] = m;
	return true;
}

static enum err_kind add_missing(struct run_files *files, const struct staged *s, struct error *e)
{
	struct run_missing m = { .begin_real_ns = s->begin_real_ns };
	int n = staged_is_ours(s)
			? asprintf(&m.text, "the trace of process %" PRIu32 " is missing: it was recorded in %s",
				   s->pid, s->path)
			: asprintf(&m.text,
				   "the trace of process %" PRIu32
				   " is missing: it is still on %s, in %s (copy it here, or run gpushim there)",
				   s->pid, s->host, s->path);

	if (n < 0)
		return no_memory(e);
	if (!array_room(files->missing, files->n_missing, files->missing_cap)) {
		free(m.text);
		return no_memory(e);
	}
	memcpy(m.run_id, s->run_id, sizeof(m.run_id));
	files->missing[files->n_missing++] = m;
	return ERR_NONE;
}

/* What is no note, or one that is being written, says nothing. */
static enum err_kind add_note(struct run_files *files, const char *path, struct error *e)
{
	struct gst_file_header header;
	struct staged s;
	int fd;

	if (!staged_read(path, &s) || (files->only_id && strcmp(s.run_id, files->only_id) != 0) ||
	    trace_is_there(files, &s))
		return ERR_NONE;
	fd = staged_open(&s, &header);
	if (fd < 0)
		return add_missing(files, &s, e);
	close(fd);
	return add_file(files, s.path, e);
}

/* A recording of which not even the beginning can be read: of what process it is nobody knows. */
static enum err_kind add_unreadable(struct run_files *files, const struct error *why, struct error *e)
{
	struct run_missing m = { .begin_real_ns = INT64_MAX };

	if (!files->unreadable.kind)
		files->unreadable = *why;
	if (asprintf(&m.text, "%s: byte %" PRIu64 ": %s", why->file, why->byte, why->text) < 0)
		m.text = NULL;
	if (!m.text || !array_room(files->missing, files->n_missing, files->missing_cap)) {
		free(m.text);
		return no_memory(e);
	}
	files->missing[files->n_missing++] = m;
	return ERR_NONE;
}

/* What was found in a directory, and not named: of host probes the report can do without, and without a process that left nothing. */
static enum err_kind add_found(struct run_files *files, const char *path, struct error *e)
{
	enum err_kind kind = add_file(files, path, e);
	struct error why;

	if (kind && ends_with(path, ".host.gst"))
		return run_files_without_host(files, path, "", e) ? ERR_NONE : kind;
	if (kind != ERR_FORMAT || e->byte == ERR_NO_BYTE)
		return kind;
	why = *e;
	return add_unreadable(files, &why, e);
}

/* Every entry of the directory that `is` says. */
static enum err_kind add_entries(struct run_files *files, const char *dir, int (*is)(const struct dirent *d),
				 enum err_kind (*add)(struct run_files *files, const char *path, struct error *e),
				 struct error *e)
{
	struct dirent **entries;
	int n = scandir(dir, &entries, is, alphasort);
	enum err_kind kind = ERR_NONE;

	if (n < 0)
		return err_set(e, ERR_SYSTEM, dir, ERR_NO_BYTE, "cannot read the directory: %s", strerror(errno));
	for (int i = 0; i < n; i++) {
		char *path = NULL;

		if (!kind && asprintf(&path, "%s%s%s", dir, ends_with(dir, "/") ? "" : "/", entries[i]->d_name) < 0)
			kind = no_memory(e);
		else if (!kind)
			kind = add(files, path, e);
		free(path);
		free(entries[i]);
	}
	free(entries);
	return kind;
}

static void forget_from(struct run_files *files, size_t n, size_t n_hosts, size_t n_missing)
{
	while (files->n_hosts > n_hosts)
		free(files->hosts[--files->n_hosts].path);
	while (files->n > n)
		free(files->at[--files->n].path);
	while (files->n_missing > n_missing)
		free(files->missing[--files->n_missing].text);
}

static bool same_instant(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static enum err_kind add_directory(struct run_files *files, const char *path, struct error *e)
{
	size_t before = files->n, hosts_before = files->n_hosts, missing_before = files->n_missing;
	enum err_kind kind = ERR_NONE;
	struct stat begin, end;

	/* A program that ends meanwhile moves its trace here and takes its note away: it may have been seen in neither place. */
	for (unsigned tries = 0; tries < TRIES; tries++) {
		bool still = stat(path, &begin) == 0;

		forget_from(files, before, hosts_before, missing_before);
		kind = add_entries(files, path, is_trace, add_found, e);
		if (!kind)
			kind = add_entries(files, path, is_note, add_note, e);
		if (kind || (still && stat(path, &end) == 0 && same_instant(&begin.st_mtim, &end.st_mtim)))
			break;
	}
	if (kind || files->n > before || files->only_id || (files->hosts_alone && files->n_hosts > hosts_before))
		return kind;
	if (files->unreadable.kind) {
		*e = files->unreadable;
		return e->kind;
	}
	return err_set(e, ERR_FORMAT, path, ERR_NO_BYTE, "%s",
		       files->n_missing ? files->missing[0].text
		       : files->n_hosts > hosts_before
			       ? "only host probes in this directory, and no recording of a process"
			       : "no .gst file in this directory");
}

enum err_kind run_files_add(struct run_files *files, const char *path, struct error *e)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return files->only_id && errno == ENOENT ? ERR_NONE : cannot_open(path, e);
	return S_ISDIR(st.st_mode) ? add_directory(files, path, e) : add_file(files, path, e);
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
