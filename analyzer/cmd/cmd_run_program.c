/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd_run_program.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_USUAL "/bin:/usr/bin"

static bool is_program(const char *path, char out[PATH_MAX])
{
	struct stat st;

	return realpath(path, out) && stat(out, &st) == 0 && S_ISREG(st.st_mode) && access(out, X_OK) == 0;
}

static bool find(const char *name, char out[PATH_MAX])
{
	const char *path = getenv("PATH");
	char place[PATH_MAX];

	if (strchr(name, '/'))
		return is_program(name, out);
	for (const char *at = path ? path : PATH_USUAL;; at++) {
		size_t n = strcspn(at, ":"); /* 0: here */

		if (snprintf(place, sizeof(place), "%.*s/%s", n ? (int)n : 1, n ? at : ".", name) < PATH_MAX &&
		    is_program(place, out))
			return true;
		at += n;
		if (!*at)
			return false;
	}
}

void run_program_guess(struct run_program *p, char *const argv[])
{
	char found[PATH_MAX];
	const char *exe = *argv[0] && find(argv[0], found) ? found : argv[0];
	size_t n = 0;

	memset(p, 0, sizeof(*p));
	memcpy(p->exe, exe, strnlen(exe, sizeof(p->exe) - 1));
	for (char *const *at = argv; *at && n < sizeof(p->cmdline); at++)
		n += (size_t)snprintf(p->cmdline + n, sizeof(p->cmdline) - n, at == argv ? "%s" : " %s", *at);
}
