/* SPDX-License-Identifier: BSD-2-Clause */
/* glibc.h: functions of libc that older systems have under an older version, or in another library, or not at all.
 *
 * The shim is built on a new glibc and has to load on every one since 2.28. A version that the loader does not know ends each program
 * that we are preloaded into, with 127. So these bind at the first version there was, and weakly: before 2.34 they are in
 * libdl and libpthread, which a program need not have loaded. Where the reference found nothing when we were loaded, the library is looked
 * for again at each call: the driver brings both. scripts/check-needed.sh holds that nothing else binds above 2.28. */
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As without the prefix; where there is no such function they fail: NULL, or ENOSYS. */
void *glibc_dlopen(const char *name, int flags);
void *glibc_dlvsym(void *handle, const char *name, const char *version);
char *glibc_dlerror(void);
int glibc_dlclose(void *handle);
int glibc_pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*main)(void *), void *arg);
int glibc_pthread_attr_setstacksize(pthread_attr_t *attr, size_t bytes);
int glibc_pthread_key_create(pthread_key_t *key, void (*ended)(void *));
int glibc_pthread_setspecific(pthread_key_t key, const void *value);

/* These are 2.33; the kernel's struct stat is libc's on both processors. */
static inline int glibc_fstat(int fd, struct stat *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

static inline int glibc_stat(const char *path, struct stat *st)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, st, 0);
}

static inline int glibc_lstat(const char *path, struct stat *st)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}
