/* SPDX-License-Identifier: BSD-2-Clause */
#include "run_files.h"

#include "alloc.h"
#include "reader.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The wall clock is set now and then; by less than this, it is still the same boot. */
#define SET_NS 1000000000

static enum err_kind no_memory(struct error *e)
{
	return err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");
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

/* One boot of one machine has one distance between its clocks: that of the first file found of it. */
static int64_t to_wall(const struct run_files *files, const struct gst_file_header *h)
{
	int64_t mine = h->start_real_ns ? (int64_t)(h->start_real_ns - h->start_mono_ns) : 0;

	for (size_t i = 0; i < files->n; i++) {
		int64_t other = files->at[i].to_wall_ns, apart;

		if (strcmp(files->at[i].header.host, h->host) == 0 && !__builtin_sub_overflow(mine, other, &apart) &&
		    apart < SET_NS && apart > -SET_NS)
			return other;
	}
	return mine;
}

static enum err_kind add_file(struct run_files *files, const char *path, struct error *e)
{
	struct gst_file_header header;
	struct run_file *f;
	struct stat st;
	enum err_kind kind;

	if (stat(path, &st) != 0)
		return files->only_id ? ERR_NONE : cannot_open(path, e);
	if (already_there(files, &st))
		return ERR_NONE;
	kind = read_header(path, &header, e);
	if (files->only_id && (kind || strcmp(header.run_id, files->only_id) != 0))
		return kind == ERR_SYSTEM ? kind : ERR_NONE;
	if (kind)
		return kind;
	if (!array_room(files->at, files->n, files->cap))
		return no_memory(e);
	f = &files->at[files->n];
	*f = (struct run_file){ .path = strdup(path), .header = header, .dev = st.st_dev, .ino = st.st_ino };
	if (!f->path)
		return no_memory(e);
	f->to_wall_ns = to_wall(files, &header);
	files->n++;
	return ERR_NONE;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

/* Host probe files carry the same suffix and more; they are not processes. */
static int is_trace(const struct dirent *d)
{
	return d->d_name[0] != '.' && ends_with(d->d_name, ".gst") && !ends_with(d->d_name, ".host.gst");
}

static enum err_kind add_named(struct run_files *files, const char *dir, const char *name, struct error *e)
{
	char *path;
	enum err_kind kind;

	if (asprintf(&path, "%s%s%s", dir, ends_with(dir, "/") ? "" : "/", name) < 0)
		return no_memory(e);
	kind = add_file(files, path, e);
	free(path);
	return kind;
}

static enum err_kind add_directory(struct run_files *files, const char *path, struct error *e)
{
	struct dirent **entries;
	int n = scandir(path, &entries, is_trace, alphasort);
	enum err_kind kind = ERR_NONE;

	if (n < 0)
		return err_set(e, ERR_SYSTEM, path, ERR_NO_BYTE, "cannot read the directory: %s", strerror(errno));
	if (n == 0 && !files->only_id)
		kind = err_set(e, ERR_FORMAT, path, ERR_NO_BYTE, "no .gst file in this directory");
	for (int i = 0; i < n; i++) {
		if (!kind)
			kind = add_named(files, path, entries[i]->d_name, e);
		free(entries[i]);
	}
	free(entries);
	return kind;
}

enum err_kind run_files_add(struct run_files *files, const char *path, struct error *e)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return files->only_id && errno == ENOENT ? ERR_NONE : cannot_open(path, e);
	return S_ISDIR(st.st_mode) ? add_directory(files, path, e) : add_file(files, path, e);
}

void run_files_free(struct run_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		free(files->at[i].path);
		trace_free(files->at[i].trace);
	}
	free(files->at);
	*files = (struct run_files){ 0 };
}
