/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_pack.c: recordings into one small file, which every command reads as it is. */
#include "cmd.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd_output.h"
#include "pack/pack_read.h"
#include "pack/pack_write.h"
#include "read/reader.h"
#include "run/run_files.h"
#include "tools/alloc.h"
#include "tools/progress.h"
#include "tools/text.h"
#include "trace/life.h"

struct pack_opts {
	const char *to;
};

static const struct option_row rows[] = {
	{ "output", 'o', OPT_TEXT, offsetof(struct pack_opts, to), "FILE", "what to write; - is standard output", 0,
	  0 },
};

const struct option_set cmd_pack_options = {
	.usage =
		"PATH... -o FILE\n\nRecordings into one small file, which every command reads as it is. PATH: a run directory or a .gst file.",
	.rows = rows,
	.n_rows = sizeof(rows) / sizeof(rows[0]),
	.min_paths = 1,
	.max_paths = SIZE_MAX,
	.files = "gst",
};

/* ---- what goes in ---- */

struct recording {
	const char *path, *name;
	uint64_t bytes;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct recording *)a)->name, ((const struct recording *)b)->name);
}

/* One that is still being written has no end yet. Those in archives have. */
static int refuse_living(const char *path)
{
	struct reader *r;
	struct error e;
	enum life life;

	if (reader_open(&r, path, &e))
		return cmd_fail(&e, NULL);
	life = life_of(path, reader_header(r), reader_counters(r), life_now_ns());
	reader_free(r);
	return life == LIFE_RUNNING
		       ? cmd_refuse(ERR_USAGE, path, "is still being written", "pack it when its program has ended")
		       : 0;
}

/* Their paths, in the order of their names. Nothing of a directory is left out: its files may be deleted afterwards. */
static int list(const struct run_files *files, struct recording *out)
{
	size_t n = 0;
	int status = 0;

	if (files->n_imported)
		return cmd_refuse(ERR_USAGE, "", "traces of other tools are not packed",
				  "gzip does that, and what it makes is read as well");
	if (files->n_missing)
		return cmd_refuse(ERR_FORMAT, "", files->missing[0].text, "pack the others by their names");
	for (size_t i = 0; i < files->n; i++)
		out[n++] = (struct recording){ files->at[i].path, text_base(files->at[i].path), files->at[i].bytes };
	for (size_t i = 0; i < files->n_hosts; i++)
		out[n++] = (struct recording){ files->hosts[i].path, text_base(files->hosts[i].path),
					       files->hosts[i].bytes };
	array_sort(out, n, sizeof(*out), by_name);
	for (size_t i = 0; i < n && !status; i++) {
		if (!pack_name_fits(out[i].name, strlen(out[i].name)))
			status = cmd_refuse(ERR_USAGE, out[i].path, "is no name of a recording in an archive",
					    "NAME.gst is one");
		else if (i && strcmp(out[i - 1].name, out[i].name) == 0)
			status = cmd_refuse(ERR_USAGE, out[i].path, "there is another one of that name",
					    "pack it into another archive");
		else
			status = refuse_living(out[i].path);
	}
	return status;
}

/* ---- what comes out ---- */

static bool forget(void *to, const uint8_t *bytes, size_t n, uint64_t at, struct error *e)
{
	(void)to, (void)bytes, (void)n, (void)at, (void)e;
	return true;
}

/* It takes its place only if it can be read back, to the last byte: the originals may be deleted then. */
static int read_back(struct output *o)
{
	struct pack_file *p;
	struct error e;
	enum err_kind kind;

	if (!o->path || fflush(o->file) != 0)
		return 0; /* cmd_finish says that it could not be written */
	kind = pack_open(&p, o->path, &e);
	for (size_t i = 0; !kind && i < pack_members(p); i++)
		kind = pack_unpack(p, i, forget, NULL, &e);
	if (!kind)
		pack_close(p);
	return kind ? cmd_fail(&e, "the archive is not kept") : 0;
}

static int write_all(struct output *o, const struct recording *list, size_t n, struct pack_written *done)
{
	struct pack_writer *w = pack_writer_new(o->file);
	struct error e;
	enum err_kind kind = w ? ERR_NONE : err_set(&e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");

	for (size_t i = 0; i < n && !kind && !ferror(o->file); i++)
		kind = pack_write(w, list[i].path, list[i].name, &e);
	if (!kind)
		kind = pack_write_end(w, &e);
	if (w)
		*done = pack_written(w);
	pack_writer_free(w);
	cmd_progress_clear();
	return kind ? cmd_fail(&e, NULL) : ferror(o->file) ? 0 : read_back(o);
}

/* A recording is its user's alone; so is what is made of it, unless a file is there already. */
static void keep_private(const struct output *o)
{
	if (o->path && access(o->target, F_OK) != 0)
		chmod(o->path, 0600);
}

static int pack(const struct run_files *files, const char *to)
{
	struct recording *recordings = array_new(files->n + files->n_hosts, sizeof(*recordings));
	size_t n = files->n + files->n_hosts;
	struct pack_written done = { 0 };
	struct output o;
	uint64_t bytes = 0;
	int status = recordings ? list(files, recordings) : cmd_refuse(ERR_SYSTEM, "", "out of memory", NULL);

	if (!status)
		status = output_open(&o, to);
	if (!status) {
		keep_private(&o);
		for (size_t i = 0; i < n; i++)
			bytes += recordings[i].bytes;
		progress_begin(PROGRESS_READ, bytes);
		status = write_all(&o, recordings, n, &done);
		status = output_close(&o, status);
		if (!status && strcmp(to, "-") != 0)
			printf("%zu recording%s, %.1f MB in %.2f MB\n", done.members, done.members == 1 ? "" : "s",
			       (double)done.read / 1e6, (double)done.written / 1e6);
	}
	free(recordings);
	return status;
}

/* The archive is none of what goes in. */
static int refuse_source(const struct run_files *files, const char *to)
{
	struct stat st;

	if (strcmp(to, "-") == 0 || stat(to, &st) != 0)
		return 0;
	for (size_t i = 0; i < files->n; i++)
		if (files->at[i].dev == st.st_dev && files->at[i].ino == st.st_ino)
			return cmd_refuse(ERR_USAGE, to, "is part of the recording; choose another name", NULL);
	for (size_t i = 0; i < files->n_hosts; i++)
		if (files->hosts[i].dev == st.st_dev && files->hosts[i].ino == st.st_ino)
			return cmd_refuse(ERR_USAGE, to, "is part of the recording; choose another name", NULL);
	return 0;
}

int cmd_pack(int argc, char *argv[])
{
	struct pack_opts o = { .to = NULL };
	struct run_files files = { .hosts_alone = true };
	struct error e;
	int first, status = cmd_options(&cmd_pack_options, argc, argv, &o, &first);

	if (status >= 0)
		return status;
	if (!o.to)
		return cmd_refuse(ERR_USAGE, "", "pack: no file is named", "try: gpushim pack gpushim-out -o run.gpk");
	if (strlen(o.to) > 3 && strcmp(o.to + strlen(o.to) - 3, ".gz") == 0)
		return cmd_refuse(ERR_USAGE, o.to, "an archive is not packed again", "name it run.gpk");
	if (strcmp(o.to, "-") == 0 && isatty(STDOUT_FILENO))
		return cmd_refuse(ERR_USAGE, "", "pack: an archive is nothing for a terminal",
				  "name a file, or lead standard output into one");
	cmd_progress_read_only();
	status = 0;
	for (int i = first; i < argc && !status; i++)
		if (run_files_add(&files, argv[i], &e))
			status = cmd_fail(&e, NULL);
	if (!status)
		status = refuse_source(&files, o.to);
	if (!status)
		status = pack(&files, o.to);
	run_files_free(&files);
	return status;
}
