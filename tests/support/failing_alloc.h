/* SPDX-License-Identifier: BSD-2-Clause */
/* failing_alloc.h: the n-th allocation fails. For a test program that is linked with --wrap=malloc, calloc and realloc. The analyzer has one
 * thread then, so that the n-th is always the same. */
#ifndef TESTS_FAILING_ALLOC_H
#define TESTS_FAILING_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static long fail_at; /* the n-th allocation from now on fails; 0 none */

static bool fails(void)
{
	return fail_at > 0 && --fail_at == 0;
}

__attribute__((constructor)) static void one_thread(void)
{
	setenv("GPUSHIM_THREADS", "1", 1);
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

#endif
