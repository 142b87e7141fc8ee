/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc_fd.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "proc_mounts.h"
#include "proc_sockets.h"
#include "../proc_text.h"

struct proc_files {
	struct proc_mounts mounts;
	struct proc_sockets sockets;
};

struct proc_files *proc_files_new(void)
{
	return calloc(1, sizeof(struct proc_files));
}

void proc_files_free(struct proc_files *f)
{
	if (!f)
		return;
	proc_mounts_free(&f->mounts);
	proc_sockets_free(&f->sockets);
	free(f);
}

static bool numbered(const char *name, const char *form, uint64_t *inode)
{
	unsigned long long n;

	if (sscanf(name, form, &n) != 1)
		return false;
	*inode = n;
	return true;
}

/* By the link's text. */
static void classify(struct proc_fd *out)
{
	if (numbered(out->name, "pipe:[%llu]", &out->inode))
		out->kind = GST_FD_PIPE;
	else if (numbered(out->name, "socket:[%llu]", &out->inode))
		out->kind = GST_FD_SOCKET;
	else
		out->kind = *out->name == '/' ? GST_FD_FILE : GST_FD_OTHER;
}

bool proc_fd_glance(uint32_t pid, int fd, struct proc_fd *out)
{
	char path[64];
	struct stat link;

	out->inode = out->peer = 0;
	out->unsure = false;
	out->pos = UINT64_MAX;
	out->dev = out->fs = 0;
	snprintf(path, sizeof(path), "/proc/%u/fd/%d", pid, fd);
	if (fd < 0 || !proc_text_link(out->name, sizeof(out->name), "%s", path))
		return false;
	classify(out);
	/* The link's own mode says how the file was opened; the file itself is not touched. */
	out->ends = GST_PIPE_READS | GST_PIPE_WRITES;
	if (lstat(path, &link) == 0)
		out->ends = (uint16_t)((link.st_mode & S_IRUSR ? GST_PIPE_READS : 0) |
				       (link.st_mode & S_IWUSR ? GST_PIPE_WRITES : 0));
	return true;
}

/* A terminal, /dev/null: no data comes from there. By name, as it is not to be asked. */
static bool is_device(const char *name)
{
	return !strncmp(name, "/dev/", 5) && strncmp(name, "/dev/shm/", 9) != 0;
}

static void read_info(struct proc_files *f, uint32_t pid, int fd, struct proc_fd *out)
{
	char text[1024]; /* what is asked for stands first; behind it may be long lists of locks or of watched files */
	struct proc_mount mount;
	uint64_t id;

	if (proc_text_read(text, sizeof(text), "/proc/%u/fdinfo/%d", pid, fd) <= 0)
		return;
	if (out->kind == GST_FD_FILE && !proc_text_field(text, "pos:", 10, &out->pos))
		out->pos = UINT64_MAX;
	if (!out->inode)
		proc_text_field(text, "ino:", 10, &out->inode); /* Linux 5.14 */
	if (proc_text_field(text, "mnt_id:", 10, &id) && out->kind == GST_FD_FILE &&
	    proc_mounts_find(&f->mounts, pid, id, &mount)) {
		out->dev = mount.dev;
		out->fs = mount.fs;
	}
}

/* asked: the descriptor that a socket is asked itself by; -1: it is not. */
static bool read_fd(struct proc_files *f, uint32_t pid, int fd, int asked, struct proc_fd *out)
{
	const struct proc_socket *socket;

	if (!proc_fd_glance(pid, fd, out))
		return false;
	if (out->kind == GST_FD_FILE && is_device(out->name))
		out->kind = GST_FD_OTHER;
	if (out->kind == GST_FD_FILE || out->kind == GST_FD_OTHER)
		read_info(f, pid, fd, out);
	if (out->kind == GST_FD_SOCKET && (socket = proc_sockets_find(&f->sockets, pid, asked, out->inode))) {
		snprintf(out->name, sizeof(out->name), "%s", socket->name);
		out->peer = socket->peer;
		out->unsure = !socket->sure && !socket->listens;
	}
	return true;
}

bool proc_fd_read(struct proc_files *f, uint32_t pid, int fd, struct proc_fd *out)
{
	return read_fd(f, pid, fd, fd, out);
}

bool proc_fd_read_listening(struct proc_files *f, uint32_t pid, int fd, struct proc_fd *out)
{
	return read_fd(f, pid, fd, -1, out);
}

uint64_t proc_fd_peer(struct proc_files *f, uint64_t inode)
{
	return proc_sockets_peer(&f->sockets, inode);
}

void proc_path_mount(uint32_t pid, const char *path, uint32_t *dev, uint32_t *fs)
{
	struct proc_mount mount = { 0 };

	proc_mounts_of_path(pid, path, &mount);
	*dev = mount.dev;
	*fs = mount.fs;
}
