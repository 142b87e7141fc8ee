/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd_secure.h"

#include <linux/capability.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel lays the arguments, the environment and our file's name one behind the other. The loader takes pointers away, not text. */
static const char *given_begin, *given_end;

static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	syscall(SYS_capset, &header, none);
}

void secure_start(int argc, char *argv[], bool keep)
{
	const char *file = (const char *)(uintptr_t)getauxval(AT_EXECFN); /* NOLINT: the kernel's address */

	if (!getauxval(AT_SECURE) || getuid() != geteuid() || argc < 1)
		return;
	given_begin = argv[argc - 1] + strlen(argv[argc - 1]) + 1;
	given_end = file && file > given_begin ? file : given_begin;
	if (!keep)
		drop_capabilities();
}

void secure_drop(void)
{
	if (given_begin)
		drop_capabilities();
}

/* The next "NAME=…"; NULL: no more. */
static const char *next_given(const char *at)
{
	at = at ? at + strlen(at) + 1 : given_begin;
	return at && at < given_end ? at : NULL;
}

const char *secure_getenv_given(const char *name)
{
	size_t n = strlen(name);

	for (const char *at = next_given(NULL); at; at = next_given(at))
		if (strncmp(at, name, n) == 0 && at[n] == '=')
			return at + n + 1;
	return getenv(name);
}

static void restore(const char *entry)
{
	const char *value = strchr(entry, '=');
	char *name;

	if (!value || value == entry)
		return;
	name = strndup(entry, (size_t)(value - entry));
	if (name)
		setenv(name, value + 1, 0);
	free(name);
}

void secure_become_ordinary(void)
{
	if (!given_begin)
		return;
	drop_capabilities();
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	for (const char *at = next_given(NULL); at; at = next_given(at))
		restore(at);
}
