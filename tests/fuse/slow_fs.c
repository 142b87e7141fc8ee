/* SPDX-License-Identifier: BSD-2-Clause */
/* slow_fs SOURCE CONTROL LOG MOUNTPOINT: a FUSE file system that passes everything on to SOURCE, as slowly and as badly as CONTROL says.
 *
 * CONTROL is read again at every operation. Its lines: "<operation> delay <ms>", "<operation> fail <errno>", "<operation> hang" (until the
 * line goes away); <operation> is one of those below, or "all". Each operation done is a line of LOG. It ends when it is unmounted. */
#define FUSE_USE_VERSION 31

#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <dirent.h>

static const char *source, *control;
static int log_fd;

static void pause_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

struct order {
	long delay_ms;
	int error;
	int hang;
};

static struct order read_order(const char *operation)
{
	struct order order = { 0 };
	char line[128], name[32], what[16];
	FILE *f = fopen(control, "re");
	long n;

	while (f && fgets(line, sizeof(line), f)) {
		n = 0;
		if (sscanf(line, "%31s %15s %ld", name, what, &n) < 2 ||
		    (strcmp(name, operation) != 0 && strcmp(name, "all") != 0))
			continue;
		if (strcmp(what, "delay") == 0)
			order.delay_ms = n;
		else if (strcmp(what, "fail") == 0)
			order.error = (int)n;
		else if (strcmp(what, "hang") == 0)
			order.hang = 1;
	}
	if (f)
		fclose(f);
	return order;
}

/* 0, or the error that was ordered, negative as FUSE wants it. */
static int obey(const char *operation, const char *path)
{
	struct order order = read_order(operation);
	char line[PATH_MAX];
	int n = snprintf(line, sizeof(line), "%s %s\n", operation, path ? path : "");

	if (write(log_fd, line, (size_t)n) != n)
		return -EIO;
	pause_ms(order.delay_ms);
	while (order.hang) {
		pause_ms(20);
		order = read_order(operation);
	}
	return -order.error;
}

static const char *real(char out[PATH_MAX], const char *path)
{
	snprintf(out, PATH_MAX, "%s%s", source, path);
	return out;
}

/* What an operation is made of: the order, then the system call that does it. */
#define PASS(operation, path, call)                       \
	({                                                \
		char a_[PATH_MAX], b_[PATH_MAX];          \
		int rc_ = obey(operation, path);          \
		(void)b_;                                 \
		real(a_, path);                           \
		rc_ ? rc_ : (int)(call) < 0 ? -errno : 0; \
	})

static int fs_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	(void)fi;
	return PASS("getattr", path, lstat(a_, st));
}

static int fs_mkdir(const char *path, mode_t mode)
{
	return PASS("mkdir", path, mkdir(a_, mode));
}

static int fs_unlink(const char *path)
{
	return PASS("unlink", path, unlink(a_));
}

static int fs_rmdir(const char *path)
{
	return PASS("rmdir", path, rmdir(a_));
}

/* As NFS has it: a rename can only replace. */
static int fs_rename(const char *from, const char *to, unsigned flags)
{
	if (flags)
		return -EINVAL;
	return PASS("rename", from, rename(a_, real(b_, to)));
}

static int fs_link(const char *from, const char *to)
{
	return PASS("link", from, link(a_, real(b_, to)));
}

static int fs_chmod(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	(void)fi;
	return PASS("chmod", path, chmod(a_, mode));
}

static int fs_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	(void)fi;
	return PASS("truncate", path, truncate(a_, size));
}

static int fs_utimens(const char *path, const struct timespec t[2], struct fuse_file_info *fi)
{
	(void)fi;
	return PASS("utimens", path, utimensat(AT_FDCWD, a_, t, AT_SYMLINK_NOFOLLOW));
}

static int fs_statfs(const char *path, struct statvfs *st)
{
	return PASS("statfs", path, statvfs(a_, st));
}

static int opened(int fd, struct fuse_file_info *fi)
{
	fi->fh = (uint64_t)fd;
	return fd;
}

static int fs_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	return PASS("create", path, opened(open(a_, fi->flags | O_CREAT, mode), fi));
}

static int fs_open(const char *path, struct fuse_file_info *fi)
{
	return PASS("open", path, opened(open(a_, fi->flags & ~(O_CREAT | O_EXCL)), fi));
}

static int fs_read(const char *path, char *buffer, size_t size, off_t at, struct fuse_file_info *fi)
{
	int rc = obey("read", path);
	ssize_t n = rc ? rc : pread((int)fi->fh, buffer, size, at);

	return n < 0 && !rc ? -errno : (int)n;
}

static int fs_write(const char *path, const char *buffer, size_t size, off_t at, struct fuse_file_info *fi)
{
	int rc = obey("write", path);
	ssize_t n = rc ? rc : pwrite((int)fi->fh, buffer, size, at);

	return n < 0 && !rc ? -errno : (int)n;
}

static int fs_flush(const char *path, struct fuse_file_info *fi)
{
	(void)fi;
	return obey("flush", path);
}

static int fs_fsync(const char *path, int data, struct fuse_file_info *fi)
{
	(void)data, (void)fi;
	return obey("fsync", path);
}

static int fs_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	close((int)fi->fh);
	return 0;
}

static int fs_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t at, struct fuse_file_info *fi,
		      enum fuse_readdir_flags flags)
{
	char folder[PATH_MAX];
	struct dirent *d;
	DIR *entries;
	int rc = obey("readdir", path);

	(void)at, (void)fi, (void)flags;
	if (rc)
		return rc;
	entries = opendir(real(folder, path));
	if (!entries)
		return -errno;
	while ((d = readdir(entries)))
		fill(buffer, d->d_name, NULL, 0, 0);
	closedir(entries);
	return 0;
}

/* Nothing is answered from the kernel's memory: each look is a question to this program. */
static void *fs_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
	(void)connection;
	config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
	return NULL;
}

static const struct fuse_operations operations = {
	.init = fs_init,
	.getattr = fs_getattr,
	.mkdir = fs_mkdir,
	.unlink = fs_unlink,
	.rmdir = fs_rmdir,
	.rename = fs_rename,
	.link = fs_link,
	.chmod = fs_chmod,
	.truncate = fs_truncate,
	.utimens = fs_utimens,
	.statfs = fs_statfs,
	.create = fs_create,
	.open = fs_open,
	.read = fs_read,
	.write = fs_write,
	.flush = fs_flush,
	.fsync = fs_fsync,
	.release = fs_release,
	.readdir = fs_readdir,
};

int main(int argc, char **argv)
{
	bool root = geteuid() == 0; /* whose mount is everybody's */
	char *args[] = { argv[0], (char *)"-f", argc == 5 ? argv[4] : NULL, root ? (char *)"-oallow_other" : NULL,
			 NULL };

	if (argc != 5)
		return 2;
	source = argv[1]; /* absolute: fuse_main changes the directory */
	control = argv[2];
	log_fd = open(argv[3], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	umask(0);
	return log_fd < 0 ? 4 : fuse_main(root ? 4 : 3, args, &operations, NULL);
}
