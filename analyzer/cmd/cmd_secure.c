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

#define BIT(cap) (1ull << (cap))

/* What host probes can have a use for; the last two for kernels, and distributions, that ask for more than the first two. */
#define FOR_PROBES (BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYS_ADMIN) | BIT(CAP_SYS_RESOURCE))
/* What waiting for a program, which may become another user, and reading what it recorded can. */
#define FOR_WAITING (BIT(CAP_KILL) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_SYS_PTRACE))

/* The kernel lays the arguments, the environment and our file's name one behind the other. The loader takes pointers away, not text. */
static const char *given_begin, *given_end;

/* What a program would inherit is its user's and stays. */
static void keep_capabilities(uint64_t kept)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &header, data) != 0)
		return;
	for (unsigned i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(kept >> (32 * i));
		data[i].effective &= data[i].permitted;
	}
	syscall(SYS_capset, &header, data);
}

/* The next "NAME=…"; NULL: no more. */
static const char *next_given(const char *at)
{
	at = at ? at + strlen(at) + 1 : given_begin;
	return at && at < given_end ? at : NULL;
}

static const char *find_given(const char *name)
{
	size_t n = strlen(name);

	for (const char *at = next_given(NULL); at; at = next_given(at))
		if (strncmp(at, name, n) == 0 && at[n] == '=')
			return at + n + 1;
	return NULL;
}

bool secure_start(int argc, char *argv[], bool keep)
{
	const char *file = (const char *)(uintptr_t)getauxval(AT_EXECFN); /* NOLINT: the kernel's address */
	const char *folder;

	if (getuid() != geteuid() || getgid() != getegid())
		return false;
	if (!getauxval(AT_SECURE) || argc < 1)
		return true;
	given_begin = argv[argc - 1] + strlen(argv[argc - 1]) + 1;
	given_end = file && file > given_begin ? file : given_begin;
	keep_capabilities(keep ? FOR_PROBES : 0);
	folder = find_given("TMPDIR"); /* we write as its user, with no right to any file but the user's own */
	if (folder)
		setenv("TMPDIR", folder, 0);
	return true;
}

void secure_drop(void)
{
	if (given_begin)
		keep_capabilities(0);
}

void secure_drop_to_wait(void)
{
	keep_capabilities(given_begin ? 0 : FOR_WAITING);
}

void secure_drop_all(void)
{
	keep_capabilities(0);
}

const char *secure_getenv_given(const char *name)
{
	const char *value = find_given(name);

	return value ? value : getenv(name);
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
	keep_capabilities(0);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	for (const char *at = next_given(NULL); at; at = next_given(at))
		restore(at);
}
