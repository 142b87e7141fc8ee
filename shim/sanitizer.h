/* SPDX-License-Identifier: BSD-2-Clause */
/* sanitizer.h: a sanitizer in the traced program. ThreadSanitizer intercepts libc's functions for us, too (memcpy, strlen), but sees none of our
 * atomics: what our threads exchange would be races to it, and the program would end with its exit status. Its functions are those of
 * compiler-rt's tsan_interface.h; they are absent elsewhere. Where we are built with it ourselves, it sees everything and is told nothing. */
#pragma once

#include <stdbool.h>

extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));
extern void __tsan_ignore_thread_begin(void) __attribute__((weak));
extern void __tsan_ignore_thread_end(void) __attribute__((weak));
extern void __tsan_acquire(void *at) __attribute__((weak));
extern void __tsan_release(void *at) __attribute__((weak));

/* Every function then reads a shadow of its memory. */
static inline bool sanitizer_watches_memory(void)
{
	return __asan_init || __tsan_init;
}

#ifdef __SANITIZE_THREAD__
#define SANITIZER_TELL(name, ...) ((void)0)
#else
#define SANITIZER_TELL(name, ...) ((name) ? (name)(__VA_ARGS__) : (void)0)
#endif

/* Around all that a thread of ours does: it must not end between the two. */
static inline void sanitizer_ignore_begin(void)
{
	SANITIZER_TELL(__tsan_ignore_thread_begin);
}

static inline void sanitizer_ignore_end(void)
{
	SANITIZER_TELL(__tsan_ignore_thread_end);
}

/* A lock of our own was taken; is about to be given. */
static inline void sanitizer_taken(void *lock)
{
	SANITIZER_TELL(__tsan_acquire, lock);
	(void)lock;
}

static inline void sanitizer_giving(void *lock)
{
	SANITIZER_TELL(__tsan_release, lock);
	(void)lock;
}
