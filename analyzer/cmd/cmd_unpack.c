/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_unpack.c: the recordings of an archive as they were. */
#include "cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pack/pack_read.h"
#include "shim/rename_new.h"
#include "shim/run_dir.h"
#include "tools/progress.h"

struct unpack_opts {
	const char *to;
};

static const struct option_row rows[] = {
	{ "output", 'o', OPT_TEXT, offsetof(struct unpack_opts, to), "DIR", "where to; it is made where it is missing",
	  0, 0 },
};

const struct option_set cmd_unpack_options = {
	.usage =
		"FILE -o DIR\n\nThe recordings of an archive as they were, byte by byte. None takes the place of a file that is there.",
	.rows = rows,
	.n_rows = sizeof(rows) / sizeof(rows[0]),
	.min_paths = 1,
	.max_paths = 1,
	.files = "gpk",
	.missing = "no archive is named",
};

/* The folder, for names in it only. -1: said. */
static int open_folder(const char *to)
{
	char path[PATH_MAX], here[PATH_MAX] = "";
	int fd = -1;

	errno = 0;
	if ((*to == '/' || getcwd(here, sizeof(here))) &&
	    snprintf(path, sizeof(path), "%s%s%s", here, *here ? "/" : "", to) >= (int)sizeof(path))
		errno = ENAMETOOLONG;
	if (!errno)
		fd = run_dir_open(path);
	if (fd < 0)
		cmd_refuse(ERR_SYSTEM, to, strerror(errno), NULL);
	return fd;
}

static int exists(int folder, const char *name)
{
	struct stat st;

	return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0
		       ? cmd_refuse(ERR_USAGE, name, "is there already", "unpack into another folder")
		       : 0;
}

/* Under another name first: what is there by its own is whole. */
static int unpack_one(struct pack_file *p, size_t i, int folder)
{
	struct pack_member m = pack_member(p, i);
	char temporary[64];
	struct error e;
	int fd, status = 0;

	snprintf(temporary, sizeof(temporary), ".gpushim-%d-%zu", (int)getpid(), i);
	fd = run_dir_create(folder, temporary);
	if (fd < 0)
		return cmd_refuse(ERR_SYSTEM, m.name, strerror(errno), NULL);
	if (pack_unpack_file(p, i, fd, m.name, &e))
		status = cmd_fail(&e, NULL);
	if (close(fd) != 0 && !status)
		status = cmd_refuse(ERR_SYSTEM, m.name, strerror(errno), NULL);
	if (!status && !rename_new(folder, temporary, m.name))
		status = cmd_refuse(ERR_SYSTEM, m.name, strerror(errno), NULL);
	if (status)
		unlinkat(folder, temporary, 0);
	progress_add(m.length);
	return status;
}

static int unpack(struct pack_file *p, int folder)
{
	uint64_t bytes = 0;
	int status = 0;

	for (size_t i = 0; i < pack_members(p) && !status; i++) {
		status = exists(folder, pack_member(p, i).name);
		bytes += pack_member(p, i).length;
	}
	progress_begin(PROGRESS_READ, bytes);
	for (size_t i = 0; i < pack_members(p) && !status; i++)
		status = unpack_one(p, i, folder);
	cmd_progress_clear();
	return status;
}

int cmd_unpack(int argc, char *argv[])
{
	struct unpack_opts o = { .to = NULL };
	struct pack_file *p;
	struct error e;
	int first, folder, status = cmd_options(&cmd_unpack_options, argc, argv, &o, &first);

	if (status >= 0)
		return status;
	if (!o.to || !*o.to)
		return cmd_refuse(ERR_USAGE, "", "unpack: no folder is named", "try: gpushim unpack run.gpk -o DIR");
	if (pack_open(&p, argv[first], &e))
		return cmd_fail(&e, NULL);
	cmd_progress_read_only();
	if (pack_check(p, &e)) { /* before anything is written */
		status = cmd_fail(&e, NULL);
	} else {
		folder = open_folder(o.to);
		status = folder < 0 ? ERR_SYSTEM : unpack(p, folder);
		if (folder >= 0)
			close(folder);
	}
	pack_close(p);
	return status;
}
