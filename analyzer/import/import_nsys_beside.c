/* SPDX-License-Identifier: BSD-2-Clause */
/* import_nsys_beside.c: what SQLite had not yet put into a file when it was copied, or is about to. Reading that would write. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import_nsys_file.h"

#define MAGIC \
	"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" /* a journal begins with it until its transaction has ended (journal_mode PERSIST) */

static bool is_hot(const char *journal)
{
	char begin[8];
	int fd = open(journal, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : read(fd, begin, sizeof(begin));

	if (fd >= 0)
		close(fd);
	return n < 0 || (n == sizeof(begin) && memcmp(begin, MAGIC, sizeof(begin)) == 0);
}

/* Beside where the file is, not the links to it: there SQLite puts it, too. */
enum err_kind nsys_check_beside(const char *path, struct error *e)
{
	static const char *const kinds[] = { "-wal", "-journal" };
	char beside[PATH_MAX + 16], *real = realpath(path, NULL);
	struct stat st;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		snprintf(beside, sizeof(beside), "%s%s", real ? real : path, kinds[i]);
		if (stat(beside, &st) || !st.st_size || (i && !is_hot(beside)))
			continue;
		free(real);
		return err_set(
			e, ERR_FORMAT, path, ERR_NO_BYTE,
			"the %s file beside it may hold changes that are not in it: let sqlite3 open it once (%s), or "
			"export again",
			kinds[i], i ? "it rolls them back" : "PRAGMA wal_checkpoint(TRUNCATE)");
	}
	free(real);
	return ERR_NONE;
}
