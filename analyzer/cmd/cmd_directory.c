/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd_directory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"

static int fail(enum err_kind kind, const char *dir, const char *fact, const char *hint)
{
	struct error e;

	err_set(&e, kind, dir, ERR_NO_BYTE, "%s", fact);
	return cmd_fail(&e, hint);
}

/* Can it be made, or written to, by the recorder? It is made only when there is something to record. */
static bool can_record_into(const char *dir)
{
	char part[PATH_MAX];
	struct stat st;

	snprintf(part, sizeof(part), "%s", dir);
	while (stat(part, &st) != 0) {
		char *slash = strrchr(part, '/');

		if (errno != ENOENT)
			return false;
		if (!slash || slash == part)
			strcpy(part, "/");
		else
			*slash = 0;
	}
	if (S_ISDIR(st.st_mode))
		return access(part, W_OK | X_OK) == 0;
	errno = ENOTDIR;
	return false;
}

int cmd_directory(const char *wanted, char out[PATH_MAX])
{
	const char *set = getenv("GPUSHIM_OUT"), *dir = wanted ? wanted : set && *set ? set : "gpushim-out";
	char here[PATH_MAX] = "";
	int n;

	if (!*dir)
		return fail(ERR_USAGE, NULL, "no directory has an empty name", "try: -o DIR");
	if (*dir != '/' && !getcwd(here, sizeof(here)))
		return fail(ERR_SYSTEM, dir, strerror(errno), NULL);
	n = snprintf(out, PATH_MAX, "%s%s%s", here, *dir == '/' ? "" : "/", dir);
	if (n >= PATH_MAX - 128) /* file names go there as well */
		return fail(ERR_SYSTEM, dir, "cannot record here: the path is too long", NULL);
	if (!can_record_into(out)) {
		char fact[128];

		bool file = errno == ENOTDIR;

		snprintf(fact, sizeof(fact), "cannot record here: %s", strerror(errno));
		return fail(ERR_SYSTEM, out, fact,
			    file ? "try: -o DIR; each process has a file of its own in it" : NULL);
	}
	return 0;
}
