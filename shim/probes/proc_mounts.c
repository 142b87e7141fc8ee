/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc_mounts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../proc_text.h"
#include "proc_whole.h"

#define STALE_NS 10000000000u /* a number may belong to another mount by then */

/* By name, as what a file system answers is its server's business. */
static uint32_t magic_of(const char *type, size_t length)
{
	static const struct {
		const char *type;
		uint32_t magic;
	} known[] = {
#define NETWORK_FS(name, number) { name, number },
#include "../network_fs.def"
#undef NETWORK_FS
		{ "ext2", 0xEF53 },      { "ext3", 0xEF53 },         { "ext4", 0xEF53 },
		{ "xfs", 0x58465342 },   { "btrfs", 0x9123683E },    { "tmpfs", 0x01021994 },
		{ "ramfs", 0x858458F6 }, { "overlay", 0x794C7630 },  { "zfs", 0x2FC12FC1 },
		{ "f2fs", 0xF2F52010 },  { "bcachefs", 0xCA451A4E }, { "squashfs", 0x73717368 },
		{ "erofs", 0xE0F5E1E2 }, { "iso9660", 0x9660 },      { "vfat", 0x4D44 },
		{ "exfat", 0x2011BAB0 }, { "ntfs3", 0x7366746E },    { "hugetlbfs", 0x958458F6 },
		{ "proc", 0x9FA0 },      { "sysfs", 0x62656572 },    { "devtmpfs", 0x01021994 },
		{ "devpts", 0x1CD1 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t n = strlen(known[i].type);
		/* A type's own kinds, "fuse.sshfs", are meant too. */
		if (n <= length && !strncmp(known[i].type, type, n) && (n == length || type[n] == '.'))
			return known[i].magic;
	}
	return 0;
}

/* "36 35 98:0 /root /mnt rw,noatime shared:1 - ext3 /dev/root rw": number, …, major:minor, root, where, options, words, -, type. */
static bool parse_line(const char *line, struct proc_mount *m, const char **where, size_t *where_bytes)
{
	const char *end = proc_text_next_line(line), *type = strstr(line, " - ");
	unsigned long long id;
	unsigned major, minor;
	int at = 0, past = 0;

	if (sscanf(line, "%llu %*d %u:%u %*s %n%*s%n", &id, &major, &minor, &at, &past) != 3 || !past || !type ||
	    type >= end)
		return false;
	type += 3;
	m->id = id;
	m->dev = major << 20 | minor;
	m->fs = magic_of(type, strcspn(type, " \n"));
	*where = line + at;
	*where_bytes = (size_t)(past - at);
	return true;
}

static bool add(struct proc_mounts *m, const struct proc_mount *mount)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->at[i].id == mount->id) {
			m->at[i] = *mount;
			return true;
		}
	if (m->n == m->cap) {
		size_t cap = m->cap ? 2 * m->cap : 64;
		struct proc_mount *at = realloc(m->at, cap * sizeof(*at));
		if (!at)
			return false;
		m->at = at;
		m->cap = cap;
	}
	m->at[m->n++] = *mount;
	return true;
}

static bool look_up(const struct proc_mounts *m, uint64_t id, struct proc_mount *out)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->at[i].id == id) {
			*out = m->at[i];
			return true;
		}
	return false;
}

bool proc_mounts_find(struct proc_mounts *m, uint32_t pid, uint64_t id, struct proc_mount *out)
{
	struct proc_mount mount;
	size_t bytes;
	const char *where;
	char *text;

	if (mono_ns() - m->read_ns > STALE_NS) {
		m->n = 0;
		m->read_ns = mono_ns();
	}
	if (look_up(m, id, out))
		return true;
	text = proc_whole(NULL, "/proc/%u/mountinfo", pid);
	for (const char *line = text; line && *line; line = proc_text_next_line(line))
		if (parse_line(line, &mount, &where, &bytes))
			add(m, &mount);
	free(text);
	if (look_up(m, id, out))
		return true;
	/* The kernel's own, of pipes and sockets, stand in no list: remembered as such, lest they be looked for each time. */
	add(m, &(struct proc_mount){ .id = id });
	return false;
}

/* Spaces and the like are written \040 there; such a mount is only found by the one above it. */
static bool leads_to(const char *path, const char *where, size_t bytes)
{
	if (bytes == 1 && *where == '/')
		return *path == '/';
	return !strncmp(path, where, bytes) && (path[bytes] == '/' || !path[bytes]);
}

bool proc_mounts_of_path(uint32_t pid, const char *path, struct proc_mount *out)
{
	char *text = proc_whole(NULL, "/proc/%u/mountinfo", pid);
	struct proc_mount mount;
	size_t bytes, best = 0;
	const char *where;

	for (const char *line = text; line && *line; line = proc_text_next_line(line))
		if (parse_line(line, &mount, &where, &bytes) && bytes >= best && leads_to(path, where, bytes)) {
			best = bytes; /* of two at one place the later one covers the other */
			*out = mount;
		}
	free(text);
	return best > 0;
}

void proc_mounts_free(struct proc_mounts *m)
{
	free(m->at);
	*m = (struct proc_mounts){ 0 };
}
