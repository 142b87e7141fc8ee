/* SPDX-License-Identifier: BSD-2-Clause */
/* run_directory.c: which of a directory's files are of a run: recordings, notes of those that lie elsewhere, archives; or, where it has none of
 * these, other tools' traces. */
#include "run_files_parts.h"

#include "pack/pack_format.h"
#include "staged.h"
#include "tools/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 3 /* to see a directory as it is at one time */

/* ---- which entries ---------------------------------------------------------------------------------------- */

/* Files of host probes carry the same suffix and more. */
static int is_trace(const struct dirent *d)
{
	return d->d_name[0] != '.' && run_files_ends_with(d->d_name, ".gst");
}

static int is_file(const struct dirent *d)
{
	return d->d_name[0] != '.' && (d->d_type == DT_REG || d->d_type == DT_LNK || d->d_type == DT_UNKNOWN);
}

static int is_archive(const struct dirent *d)
{
	return d->d_name[0] != '.' && run_files_ends_with(d->d_name, PACK_SUFFIX);
}

static int is_note(const struct dirent *d)
{
	return d->d_name[0] != '.' && run_files_ends_with(d->d_name, STAGED_END);
}

/* ---- notes ------------------------------------------------------------------------------------------------ */

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
		return run_files_no_memory(e);
	if (!array_room(files->missing, files->n_missing, files->missing_cap)) {
		free(m.text);
		return run_files_no_memory(e);
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
	return run_files_add_file(files, s.path, e);
}

/* ---- files ------------------------------------------------------------------------------------------------ */

/* Of what process it is nobody knows. */
static enum err_kind add_unreadable(struct run_files *files, const struct error *why, struct error *e)
{
	struct run_missing m = { .begin_real_ns = INT64_MAX };
	char place[32] = "";

	if (!files->unreadable.kind)
		files->unreadable = *why;
	if (err_has_byte(why))
		snprintf(place, sizeof(place), "byte %" PRIu64 ": ", why->byte);
	if (asprintf(&m.text, "%s: %s%s", why->file, place, why->text) < 0)
		m.text = NULL;
	if (!m.text || !array_room(files->missing, files->n_missing, files->missing_cap)) {
		free(m.text);
		return run_files_no_memory(e);
	}
	files->missing[files->n_missing++] = m;
	return ERR_NONE;
}

/* What was found in a directory, and not named: of host probes the report can do without, and without a process that left nothing. */
static enum err_kind add_found(struct run_files *files, const char *path, struct error *e)
{
	enum import_format format;
	enum err_kind kind;
	struct error why;

	if (!files->only_id && !import_sniff(&format, path, e) && format != IMPORT_NONE)
		return ERR_NONE; /* whatever it is called: it lies beside the recordings, or there are none */
	kind = run_files_add_file(files, path, e);
	if (kind && run_files_ends_with(path, ".host.gst"))
		return run_files_without_host(files, path, "", e) ? ERR_NONE : kind;
	if (kind != ERR_FORMAT || !err_has_byte(e))
		return kind;
	why = *e;
	return add_unreadable(files, &why, e);
}

/* What holds another tool's trace; all else that lies in the directory is none of ours, JSON of other kinds among it (several objects in a
 * row, too, which as one is damaged). */
static enum err_kind add_foreign(struct run_files *files, const char *path, struct error *e)
{
	enum import_format format;
	enum err_kind kind;
	struct error why;
	struct stat st;

	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || import_sniff(&format, path, e) || format == IMPORT_NONE ||
	    run_files_have(files, &st))
		return ERR_NONE;
	kind = run_files_import(files, path, format, &st, e);
	if (kind != ERR_FORMAT)
		return kind;
	why = *e;
	if (format == IMPORT_NSYS && why.byte != ERR_NO_BYTE)
		return add_unreadable(files, &why, e);
	if (!files->unreadable.kind)
		files->unreadable = why;
	return ERR_NONE;
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

		if (!kind &&
		    asprintf(&path, "%s%s%s", dir, run_files_ends_with(dir, "/") ? "" : "/", entries[i]->d_name) < 0)
			kind = run_files_no_memory(e);
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
	while (files->n > n) {
		files->n--;
		files->n_imported -= files->at[files->n].trace != NULL;
		trace_free(files->at[files->n].trace);
		free(files->at[files->n].path);
	}
	while (files->n_missing > n_missing)
		free(files->missing[--files->n_missing].text);
}

static bool same_instant(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

enum err_kind run_files_add_directory(struct run_files *files, const char *path, struct error *e)
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
		if (!kind) /* last: what is there as it was is read as it is */
			kind = add_entries(files, path, is_archive, run_files_add_file, e);
		if (kind || (still && stat(path, &end) == 0 && same_instant(&begin.st_mtim, &end.st_mtim)))
			break;
	}
	if (!kind && files->n == before && files->n_hosts == hosts_before && files->n_missing == missing_before &&
	    !files->only_id)
		kind = add_entries(files, path, is_file, add_foreign, e);
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
			       : "no .gst file in this directory, and no trace of another tool");
}
