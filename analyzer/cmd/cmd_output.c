/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd_output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "tools/gzip.h"
#include "tools/out_file.h"
#include "tools/text.h"

#define FILES_MAX 16  /* at once: one for each form */
#define HOPS_MAX 40   /* links to links, as the kernel follows them */
#define NAME_PART 200 /* of a temporary file's name; with what is added below NAME_MAX */

/* ---- a signal that ends us takes unfinished files with it ---- */

static const int endings[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ };
static char *volatile unfinished[FILES_MAX];
static volatile pid_t owner; /* a child of ours has the same list, and no say in it */

static void on_ending(int number)
{
	for (size_t i = 0; i < FILES_MAX && getpid() == owner; i++)
		if (unfinished[i])
			unlink(unfinished[i]);
	signal(number, SIG_DFL);
	raise(number);
}

/* Signals that somebody else handles, or that are ignored (nohup), stay as they are. */
static void watch_endings(void)
{
	struct sigaction now, ours = { .sa_handler = on_ending };

	owner = getpid();
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (sigaction(endings[i], NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL)
			sigaction(endings[i], &ours, NULL);
}

/* from NULL: one more; to NULL: one less. */
static void exchange(char *from, char *to)
{
	size_t i = 0;

	while (i < FILES_MAX && unfinished[i] != from)
		i++;
	if (i < FILES_MAX)
		unfinished[i] = to;
}

/* A new file of that name, on the list from its first moment. scratch: the name ends in XXXXXX, which is replaced. -1 with errno. */
static int create(char *path, bool scratch)
{
	sigset_t ours, before;
	int fd, number;

	sigemptyset(&ours);
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		sigaddset(&ours, endings[i]);
	sigprocmask(SIG_BLOCK, &ours, &before);
	fd = scratch ? mkostemp(path, O_CLOEXEC) : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	number = errno;
	if (fd >= 0)
		exchange(NULL, path);
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = number;
	return fd;
}

/* ---- where it is to be ---- */

/* The file itself, where the name is that of a link, even of one to a file that is not there yet. NULL with errno. */
static char *follow(const char *name)
{
	char *path = realpath(name, NULL), link[PATH_MAX];

	if (path || errno != ENOENT)
		return path;
	path = strdup(name);
	for (unsigned hops = 0; path && hops < HOPS_MAX; hops++) {
		ssize_t n = readlink(path, link, sizeof(link) - 1);
		int folder = (int)(text_base(path) - path);
		char *next;

		if (n < 0)
			return path;
		link[n] = 0;
		if (asprintf(&next, "%.*s%s", *link == '/' ? 0 : folder, path, link) < 0)
			next = NULL;
		free(path);
		path = next;
	}
	free(path);
	errno = ELOOP;
	return NULL;
}

/* What the shell opened for us is to be that very file, whatever kind it is. */
static bool is_open_already(const char *name)
{
	return strncmp(name, "/dev/std", 8) == 0 || strncmp(name, "/dev/fd/", 8) == 0 ||
	       strncmp(name, "/proc/", 6) == 0;
}

/* The new file gets the old one's owner and permissions; false where it cannot. */
static bool take_over(int fd, const struct stat *old)
{
	struct stat now;

	if (fstat(fd, &now) != 0)
		return false;
	if ((now.st_uid != old->st_uid || now.st_gid != old->st_gid) && fchown(fd, old->st_uid, old->st_gid) != 0)
		return false;
	return fchmod(fd, old->st_mode & 07777) == 0;
}

/* A hidden file in the target's folder, with no ending that somebody looks for. old: what is there; NULL nothing. -1 with errno. */
static int create_beside(struct output *o, const struct stat *old)
{
	const char *base = text_base(o->target);
	int fd = -1;

	for (unsigned i = 0; fd < 0 && i < 100; i++) {
		free(o->path);
		if (asprintf(&o->path, "%.*s.%.*s.gpushim-%d-%u", (int)(base - o->target), o->target, NAME_PART, base,
			     (int)getpid(), i) < 0) {
			o->path = NULL;
			errno = ENOMEM;
			return -1;
		}
		fd = create(o->path, false);
		if (fd < 0 && errno != EEXIST)
			return -1;
	}
	if (fd < 0)
		return -1;
	if (!old || take_over(fd, old))
		return fd;
	close(fd);
	unlink(o->path);
	exchange(o->path, NULL);
	errno = EPERM;
	return -1;
}

static int open_in_place(struct output *o)
{
	free(o->path);
	free(o->target);
	o->path = o->target = NULL;
	return open(o->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

static int open_for(struct output *o)
{
	struct stat old;
	bool there;
	int fd;

	o->target = is_open_already(o->name) ? NULL : follow(o->name);
	if (!o->target)
		return is_open_already(o->name) ? open_in_place(o) : -1;
	there = stat(o->target, &old) == 0;
	if (there && (!S_ISREG(old.st_mode) || old.st_nlink > 1))
		return open_in_place(o);
	if (there && eaccess(o->target, W_OK) != 0)
		return -1;
	fd = create_beside(o, there ? &old : NULL);
	return fd < 0 && there && (errno == EACCES || errno == EPERM) ? open_in_place(o) : fd;
}

static void forget(struct output *o)
{
	free(o->scratch);
	free(o->path);
	free(o->target);
	*o = (struct output)OUTPUT_CLOSED;
}

static int nothing_named(void)
{
	struct error e;

	err_set(&e, ERR_USAGE, NULL, ERR_NO_BYTE, "the name of a file to be written is empty");
	return cmd_fail(&e, NULL);
}

static int cannot(const struct output *o)
{
	struct error e;

	err_set(&e, ERR_SYSTEM, o->name, ERR_NO_BYTE, "cannot write: %s", strerror(errno));
	return cmd_fail(&e, NULL);
}

/* ---- what the commands call ---- */

int output_open(struct output *o, const char *name)
{
	size_t n = strlen(name);
	int fd, status;

	*o = (struct output){ .name = name, .packed = n > 3 && strcmp(name + n - 3, ".gz") == 0 };
	if (strcmp(name, "-") == 0) {
		o->name = "standard output";
		o->file = stdout;
		return 0;
	}
	if (!*name)
		return nothing_named();
	watch_endings();
	fd = open_for(o);
	if (fd >= 0)
		o->file = o->packed ? gzip_open(fd) : out_file_open(fd);
	if (o->file)
		return 0;
	status = cannot(o);
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && o->path) {
		unlink(o->path);
		exchange(o->path, NULL);
	}
	forget(o);
	return status;
}

/* The folder is the same, by whichever way, and the name in it. */
bool output_same(const struct output *a, const struct output *b)
{
	const struct output *both[] = { a, b };
	struct stat folder[2];
	char path[PATH_MAX];

	if (!a->target || !b->target || strcmp(text_base(a->target), text_base(b->target)) != 0)
		return false;
	for (size_t i = 0; i < 2; i++) {
		int length = (int)(text_base(both[i]->target) - both[i]->target);

		snprintf(path, sizeof(path), "%.*s.", length, both[i]->target);
		if (stat(path, &folder[i]) != 0)
			return false;
	}
	return folder[0].st_dev == folder[1].st_dev && folder[0].st_ino == folder[1].st_ino;
}

const char *output_path(struct output *o, struct error *e)
{
	const char *folder = getenv("TMPDIR");
	int fd = -1;

	if (o->path && !o->packed)
		return o->path;
	if (asprintf(&o->scratch, "%s/gpushim-XXXXXX", folder && *folder ? folder : "/tmp") < 0)
		o->scratch = NULL;
	else
		fd = create(o->scratch, true);
	if (fd >= 0) {
		close(fd);
		return o->scratch;
	}
	err_set(e, ERR_SYSTEM, o->scratch, ERR_NO_BYTE, "cannot write: %s", strerror(errno));
	free(o->scratch);
	o->scratch = NULL;
	return NULL;
}

/* What is in the scratch file goes where it belongs. A failure is said. */
static int move_scratch(struct output *o)
{
	FILE *from = fopen(o->scratch, "re");
	char buf[65536];
	size_t n = from ? 1 : 0;
	int status = 0;
	struct error e;

	while (n && !status) {
		n = fread(buf, 1, sizeof(buf), from);
		if (fwrite(buf, 1, n, o->file) != n || (!n && fflush(o->file) != 0))
			status = errno == EPIPE ? ERR_SYSTEM : cannot(o);
	}
	if (!from || ferror(from)) {
		err_set(&e, ERR_SYSTEM, o->scratch, ERR_NO_BYTE, "cannot read: %s", strerror(errno));
		status = cmd_fail(&e, NULL);
	}
	if (from)
		fclose(from);
	return status;
}

int output_close(struct output *o, int status)
{
	if (!o->file)
		return status;
	if (o->scratch) {
		status = status ? status : move_scratch(o);
		unlink(o->scratch);
		exchange(o->scratch, NULL);
	}
	if (!o->scratch || !status)
		status = cmd_finish(o->file, o->name, status);
	else if (o->file != stdout)
		fclose(o->file); /* why it is of no use was said */
	if (o->path && !status && rename(o->path, o->target) != 0)
		status = cannot(o);
	if (o->path && status)
		unlink(o->path);
	if (o->path)
		exchange(o->path, NULL);
	forget(o);
	return status;
}
