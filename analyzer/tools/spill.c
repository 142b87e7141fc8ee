/* SPDX-License-Identifier: BSD-2-Clause */
#include "spill.h"

#include "spill_budget.h"
#include "spill_pages.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LARGE ((size_t)1 << 20) /* bytes; smaller ones are malloc's, but where no memory may be taken at all */
#define LARGE_OF_NONE 64
#define GROWTH 16  /* by a part of it: to move a mapping costs little, and what is taken is there */
#define ARRAYS 256 /* large ones at a time: more are not spilt */

struct array {
	void *at;
	size_t bytes;
	int fd;             /* of its file; -1: it lies in memory */
	bool shared;        /* with children */
	struct pages pages; /* then */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct array arrays[ARRAYS]; /* the large ones; at NULL: free */
static uint64_t in_memory;          /* bytes of them that lie there */

static size_t large(void)
{
	return spill_budget() ? LARGE : LARGE_OF_NONE;
}

/* ---- the file ---- */

static int open_in(const char *folder)
{
	char path[PATH_MAX];
	struct statfs fs;
	int fd;

	if (statfs(folder, &fs) != 0 || fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
		return -1;
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || snprintf(path, sizeof(path), "%s/gpushim-XXXXXX", folder) >= (int)sizeof(path))
		return fd;
	fd = mkostemp(path, O_CLOEXEC); /* a file system on which every file has a name */
	if (fd >= 0)
		unlink(path);
	return fd;
}

static int open_file(void)
{
	const char *folder = getenv("TMPDIR");
	int fd = folder && *folder ? open_in(folder) : -1;

	return fd >= 0 ? fd : open_in("/var/tmp");
}

int spill_file(void)
{
	int fd = open_file();

	return fd >= 0 ? fd : memfd_create("gpushim", MFD_CLOEXEC);
}

/* Its room is taken before it is used: a write to a mapping finds no full disk, it would end the program. */
static bool have_room(int fd, size_t bytes)
{
	return fallocate(fd, 0, 0, (off_t)bytes) == 0;
}

/* ---- large arrays: under the lock ---- */

static struct array *find(const void *at)
{
	for (size_t i = 0; i < ARRAYS; i++)
		if (arrays[i].at == at)
			return &arrays[i];
	return NULL;
}

static bool map_file(struct array *a, size_t bytes)
{
	int fd = open_file();
	void *at = fd >= 0 && have_room(fd, bytes) ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
						   : MAP_FAILED;

	if (at == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	*a = (struct array){ .at = at, .bytes = bytes, .fd = fd };
	return true;
}

/* What was kept of arrays that are gone makes room, if it must. */
static bool fits(size_t bytes)
{
	if (in_memory + pages_kept() + bytes > spill_budget())
		pages_give_back();
	return in_memory + bytes <= spill_budget();
}

static bool map_memory(struct array *a, size_t bytes, bool grows, struct pages_fresh *fresh)
{
	*a = (struct array){ .fd = -1 };
	if (!pages_new(&a->pages, bytes, grows, fresh))
		return false;
	a->at = a->pages.at;
	a->bytes = a->pages.bytes;
	in_memory += a->bytes;
	return true;
}

static bool map(struct array *a, size_t bytes, bool grows, struct pages_fresh *fresh)
{
	return (!fits(bytes) && map_file(a, bytes)) || map_memory(a, bytes, grows, fresh);
}

/* Its slot is free. What is left is to be unmapped, and its file closed. */
struct gone {
	struct pages_gone pages;
	int fd; /* -1: none */
};

static struct gone give_up(struct array *a)
{
	struct gone gone = { .pages = { a->at, a->bytes }, .fd = a->fd };

	if (a->fd < 0) {
		in_memory -= a->bytes;
		gone.pages = pages_free(&a->pages);
	}
	*a = (struct array){ .at = NULL };
	return gone;
}

static void unmap(struct gone gone)
{
	pages_drop(gone.pages);
	if (gone.fd >= 0)
		close(gone.fd);
}

static bool enlarge_in_memory(struct array *a, size_t bytes, struct pages_fresh *fresh)
{
	size_t before = a->bytes;

	if (!pages_grow(&a->pages, bytes, fresh))
		return false;
	a->at = a->pages.at;
	a->bytes = a->pages.bytes;
	in_memory += a->bytes - before;
	return true;
}

/* To a file, if it has become too large for memory. */
static bool enlarge(struct array *a, size_t bytes, struct pages_fresh *fresh)
{
	struct array moved;
	void *at;

	if (a->fd < 0 && bytes > a->bytes && !fits(bytes - a->bytes) && map_file(&moved, bytes)) {
		memcpy(moved.at, a->at, a->bytes);
		unmap(give_up(a));
		*a = moved;
		return true;
	}
	if (a->fd < 0)
		return enlarge_in_memory(a, bytes, fresh);
	if (!have_room(a->fd, bytes))
		return false;
	at = mremap(a->at, a->bytes, bytes, MREMAP_MAYMOVE);
	if (at == MAP_FAILED)
		return false;
	a->at = at;
	a->bytes = bytes;
	return true;
}

enum use { FIXED, GROWS, SHARED };

static void *large_new(size_t bytes, enum use use)
{
	struct pages_fresh fresh = { 0 };
	struct array *a;
	void *at = NULL;

	pthread_mutex_lock(&lock);
	a = find(NULL);
	if (a && map(a, bytes, use == GROWS, &fresh)) {
		a->shared = use == SHARED;
		at = a->at;
	}
	pthread_mutex_unlock(&lock);
	if (use != SHARED)
		pages_ready(&fresh);
	return at;
}

/* *known: it is one of the large ones; then NULL is an answer. */
static void *large_grow(void *array, size_t bytes, bool *known)
{
	struct pages_fresh fresh = { 0 };
	struct array *a;
	void *at = NULL;

	pthread_mutex_lock(&lock);
	a = array ? find(array) : NULL;
	*known = a != NULL;
	if (a && enlarge(a, bytes, &fresh))
		at = a->at;
	pthread_mutex_unlock(&lock);
	pages_ready(&fresh);
	return at;
}

/* ---- arrays ---- */

void *spill_new(size_t n, size_t size)
{
	void *at;

	if (size && n > SIZE_MAX / 2 / size)
		return NULL;
	at = n * size >= large() ? large_new(n * size, FIXED) : NULL;
	return at ? at : array_new(n, size);
}

void *spill_new_shared(size_t bytes)
{
	void *at = bytes >= large() ? large_new(bytes, SHARED) : NULL;

	return at ? at : array_new(bytes, 1);
}

void spill_ready(const void *at, size_t bytes)
{
	pages_take(at, bytes);
}

/* What becomes large moves out of malloc's memory, once; from then on it grows where it is. */
static void *outgrow(void *array, size_t old_bytes, size_t bytes)
{
	void *at = large_new(bytes, GROWS);

	if (!at)
		return NULL;
	if (old_bytes)
		memcpy(at, array, old_bytes);
	free(array);
	return at;
}

void *spill_grow(void *array, size_t *cap, size_t size)
{
	size_t old_bytes = *cap * size, want = *cap + *cap / GROWTH + 1, bytes;
	bool known;
	void *at;

	if (old_bytes < large() / 2)
		return array_grow(array, cap, size);
	if (want > SIZE_MAX / 2 / size)
		return NULL;
	if (want * size < large())
		want = large() / size + 1;
	bytes = want * size;
	at = large_grow(array, bytes, &known);
	if (!at && !known)
		at = outgrow(array, old_bytes, bytes);
	if (!at && !known)
		return array_grow(array, cap, size);
	if (at)
		*cap = want;
	return at;
}

void spill_free(void *array)
{
	struct gone gone = { .fd = -1 };
	struct array *a;

	if (!array)
		return;
	pthread_mutex_lock(&lock);
	a = find(array);
	if (a)
		gone = give_up(a);
	pthread_mutex_unlock(&lock);
	if (a)
		unmap(gone);
	else
		free(array);
}

void spill_give_back(void)
{
	struct pages_gone gone[PAGES_SPARES];
	size_t n;

	pthread_mutex_lock(&lock);
	n = pages_leave(gone);
	pthread_mutex_unlock(&lock);
	pages_drop_all(gone, n);
}

/* ---- children ---- */

static void hide(int advice)
{
	for (size_t i = 0; i < ARRAYS; i++)
		if (arrays[i].at && arrays[i].fd < 0 && !arrays[i].shared)
			madvise(arrays[i].at, arrays[i].bytes, advice);
	pages_advise_kept(advice);
}

pid_t spill_fork(void)
{
	pid_t pid;

	pthread_mutex_lock(&lock);
	hide(MADV_DONTFORK);
	pid = fork();
	if (pid != 0)
		hide(MADV_DOFORK);
	else
		pages_forget();
	pthread_mutex_unlock(&lock);
	return pid;
}
