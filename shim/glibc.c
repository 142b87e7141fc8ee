/* SPDX-License-Identifier: BSD-2-Clause */
#include "glibc.h"

#include <dlfcn.h>
#include <errno.h>

#include "arch.h"
#include "elf_object.h"

/* Finds it in the library where it was before 2.34; which may be loaded later than we are, and is then never unloaded. */
static void *find(void **found, const char *library, const char *name)
{
	void *p = __atomic_load_n(found, __ATOMIC_RELAXED);
	struct elf_object object;

	if (!p && elf_object_find(&object, library)) {
		p = elf_object_symbol(&object, name);
		__atomic_store_n(found, p, __ATOMIC_RELAXED);
	}
	return p;
}

#define FUNCTION(library, failed, type, name, params, ...)                    \
	extern __typeof__(name) weak_##name __attribute__((weak));            \
	__asm__(".symver weak_" #name ", " #name "@" ARCH_GLIBC);             \
	type glibc_##name params                                              \
	{                                                                     \
		static void *found;                                           \
		__typeof__(name) *f = weak_##name;                            \
                                                                              \
		if (__builtin_expect(!f, 0))                                  \
			f = (__typeof__(name) *)find(&found, library, #name); \
		return f ? f(__VA_ARGS__) : failed;                           \
	}

#define DL "libdl.so.2"
#define PTHREAD "libpthread.so.0"

FUNCTION(DL, NULL, void *, dlopen, (const char *name, int flags), name, flags)
FUNCTION(DL, NULL, void *, dlvsym, (void *handle, const char *name, const char *version), handle, name, version)
FUNCTION(DL, NULL, char *, dlerror, (void))
FUNCTION(DL, -1, int, dlclose, (void *handle), handle)
FUNCTION(PTHREAD, ENOSYS, int, pthread_create,
	 (pthread_t * id, const pthread_attr_t *attr, void *(*main)(void *), void *arg), id, attr, main, arg)
FUNCTION(PTHREAD, ENOSYS, int, pthread_attr_setstacksize, (pthread_attr_t * attr, size_t bytes), attr, bytes)
FUNCTION(PTHREAD, ENOSYS, int, pthread_key_create, (pthread_key_t * key, void (*ended)(void *)), key, ended)
FUNCTION(PTHREAD, ENOSYS, int, pthread_setspecific, (pthread_key_t key, const void *value), key, value)
