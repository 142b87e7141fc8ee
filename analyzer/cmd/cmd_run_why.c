/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd_run_why.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tools/text.h"

#define SCRIPTS_DEEP 4 /* as deep as Linux follows interpreters */

/* Where execvp finds it. */
static bool find(char out[PATH_MAX], const char *program)
{
	const char *path = getenv("PATH"), *end;

	if (strchr(program, '/'))
		return snprintf(out, PATH_MAX, "%s", program) < PATH_MAX && access(out, X_OK) == 0;
	for (path = path ? path : "/bin:/usr/bin"; *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		if (snprintf(out, PATH_MAX, "%.*s%s%s", (int)(end - path), path, end > path ? "/" : "", program) <
			    PATH_MAX &&
		    access(out, X_OK) == 0)
			return true;
	}
	return false;
}

/* The loader ignores LD_PRELOAD where the program gains rights by being started. */
static bool gains_rights(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return false;
	if ((st.st_mode & S_ISUID && st.st_uid != getuid()) || (st.st_mode & S_ISGID && st.st_gid != getgid()))
		return true;
	return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

/* Does an ELF file name a dynamic loader? */
static bool has_loader(int fd, const Elf64_Ehdr *h)
{
	Elf64_Phdr p;

	for (unsigned i = 0; i < h->e_phnum; i++) {
		if (pread(fd, &p, sizeof(p), (off_t)(h->e_phoff + (uint64_t)i * sizeof(p))) != sizeof(p))
			return true; /* not for us to judge */
		if (p.p_type == PT_INTERP)
			return true;
	}
	return false;
}

/* The interpreter of a script, "#! /bin/sh -e". */
static bool interpreter(char out[PATH_MAX], const char *head, size_t n)
{
	char line[256];

	if (n < 2 || memcmp(head, "#!", 2) != 0)
		return false;
	snprintf(line, sizeof(line), "%.*s", (int)(n - 2), head + 2);
	line[strcspn(line, "\n")] = 0;
	return sscanf(line, " %255s", out) == 1;
}

/* NULL: nothing about the file itself stands against it. */
static const char *about_file(const char *program, char path[PATH_MAX])
{
	union {
		Elf64_Ehdr elf;
		char text[256];
	} head = { 0 };

	if (!find(path, program))
		return NULL;
	for (int deep = 0; deep < SCRIPTS_DEEP; deep++) {
		const char *what = NULL;
		int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		ssize_t n = fd < 0 ? -1 : pread(fd, &head, sizeof(head), 0);

		if (n >= (ssize_t)sizeof(head.elf) && memcmp(head.elf.e_ident, ELFMAG, SELFMAG) == 0) {
			if (head.elf.e_ident[EI_CLASS] != ELFCLASS64)
				what = "is a 32-bit program, which the recorder cannot be loaded into";
			else if (!has_loader(fd, &head.elf))
				what = "is statically linked: nothing can be preloaded into it";
		}
		if (fd >= 0)
			close(fd);
		if (!what && gains_rights(path))
			what = "is set-user-ID, or has capabilities: the loader preloads nothing there";
		if (what || n <= 0 || !interpreter(path, head.text, (size_t)n))
			return what;
	}
	return NULL;
}

void why_nothing(char *buf, size_t size, const char *program)
{
	const char *off = getenv("GPUSHIM"), *what;
	char path[PATH_MAX], clean[256];

	if (off && strcmp(off, "off") == 0) {
		snprintf(buf, size, "GPUSHIM=off is set");
		return;
	}
	what = about_file(program, path);
	if (what)
		snprintf(buf, size, "%s %s", text_clean(clean, sizeof(clean), path, 200), what);
	else
		snprintf(
			buf, size,
			"no process of it made a CUDA driver call that was seen (--deepbind sees more), or none that could be written down (GPUSHIM_LOG=1 tells)");
}
