/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks of another thread, that does not wait for us: each is one that it can have had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "shim/edge.h"
#include "shim/stack_make.c" /* what it has found is looked at here */
#include "shim_driver.h"
#include "stack_emulated.h"

#define LOOKS 10000
#define PATHS 256u
#define LEVELS 24u /* of 1 KiB and more: a stack is read in several pieces */

/* A section for each kind of function: so an address says which it is in. */
#define FUNCTION(kind) __attribute__((noinline, noclone, optimize("omit-frame-pointer"), section("look_" #kind)))
#define BEHIND __asm__ volatile("" : : : "memory")
#define BOUNDS(kind) extern const char __start_look_##kind[], __stop_look_##kind[]
BOUNDS(a);
BOUNDS(b);
BOUNDS(rest);
BOUNDS(main);

static bool enough;
static uint32_t its_tid;

/* ---- the thread -------------------------------------------------------------------------------------------------------- */

/* Any two paths are as deep; which functions they go through is in the bits. */
static uint32_t functions_of(unsigned path)
{
	return (uint32_t)((path + 1) * 0x9e3779b97f4a7c15ull >> 32);
}

FUNCTION(a) static void level_a(unsigned path, unsigned left);
FUNCTION(b) static void level_b(unsigned path, unsigned left);

FUNCTION(rest) static void rest(unsigned path)
{
	struct timespec some = { 0, (path % 8) * 20000 };

	nanosleep(&some, NULL);
	BEHIND;
}

static inline void go_on(unsigned path, unsigned left)
{
	if (!left)
		rest(path);
	else if (functions_of(path) >> left & 1)
		level_a(path, left - 1);
	else
		level_b(path, left - 1);
}

FUNCTION(a) static void level_a(unsigned path, unsigned left)
{
	char room[1200];

	__asm__ volatile("" : : "r"(room) : "memory");
	go_on(path, left);
	BEHIND;
}

FUNCTION(b) static void level_b(unsigned path, unsigned left)
{
	char room[1200];

	__asm__ volatile("" : : "r"(room) : "memory");
	go_on(path, left);
	BEHIND;
}

FUNCTION(main) static void *goes_all_paths(void *arg)
{
	prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
	__atomic_store_n(&its_tid, (uint32_t)gettid(), __ATOMIC_RELEASE);
	for (unsigned n = 0; !__atomic_load_n(&enough, __ATOMIC_RELAXED); n++)
		go_on(n * 37 % PATHS, LEVELS);
	BEHIND;
	return arg;
}

/* ---- what it can be at ------------------------------------------------------------------------------------------------- */

/* As letters, innermost first. */
static void spell_path(char *to, unsigned path)
{
	*to++ = 'r';
	for (unsigned left = 1; left <= LEVELS; left++)
		*to++ = functions_of(path) >> left & 1 ? 'a' : 'b';
	*to++ = 'm';
	*to = 0;
}

static bool is_in(uint64_t at, const char *begin, const char *end)
{
	return at >= (uintptr_t)begin && at < (uintptr_t)end;
}

/* What was found, libc's functions left out. */
static void spell_found(char *to)
{
	for (unsigned i = 0; i < now.n_native; i++) {
		uint64_t at = now.native[i].at - !now.native[i].exact;

		if (is_in(at, __start_look_a, __stop_look_a))
			*to++ = 'a';
		else if (is_in(at, __start_look_b, __stop_look_b))
			*to++ = 'b';
		else if (is_in(at, __start_look_rest, __stop_look_rest))
			*to++ = 'r';
		else if (is_in(at, __start_look_main, __stop_look_main))
			*to++ = 'm';
	}
	*to = 0;
}

static bool can_be(const char *found)
{
	char path[LEVELS + 3];

	for (unsigned i = 0; i < PATHS; i++) {
		spell_path(path, i);
		if (strstr(path, found))
			return true;
	}
	return false;
}

/* ---- the looks --------------------------------------------------------------------------------------------------------- */

static void *waits(void *arg)
{
	__atomic_store_n(&its_tid, (uint32_t)gettid(), __ATOMIC_RELEASE);
	pause();
	return arg;
}

/* An emulated thread is where the emulator's own is. */
static bool kernel_tells(void)
{
	pthread_attr_t attributes;
	struct stack_still there = { .sp = 0 };
	bool tells = false;
	pthread_t thread;
	size_t bytes;
	void *begin;

	assert_int_equal(pthread_create(&thread, NULL, waits, NULL), 0);
	while (!__atomic_load_n(&its_tid, __ATOMIC_ACQUIRE))
		sched_yield();
	pthread_getattr_np(thread, &attributes);
	pthread_attr_getstack(&attributes, &begin, &bytes);
	for (unsigned i = 0; i < 100 && !(tells = is_in(there.sp, begin, (const char *)begin + bytes)); i++) {
		usleep(10000);
		stack_still_look(&there, its_tid);
	}
	if (!*there.ran)
		printf("skip: the kernel does not say whether a thread has run: it may be back where it was\n");
	if (!tells)
		printf("skip: the kernel does not say where a thread waits\n");
	pthread_attr_destroy(&attributes);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	its_tid = 0;
	return tells && *there.ran;
}

static void each_is_one_that_it_can_have(void **state)
{
	char found[STACK_NATIVE_MAX + 1];
	unsigned n_frames, from_end_to_end = 0;
	struct stack_still there;
	pthread_t thread;

	(void)state;
	if (!kernel_tells())
		skip();
	assert_int_equal(pthread_create(&thread, NULL, goes_all_paths, NULL), 0);
	while (!__atomic_load_n(&its_tid, __ATOMIC_ACQUIRE))
		sched_yield();
	for (unsigned i = 0; i < LOOKS; i++) {
		struct stack_registers from = { .fp_known = false };

		stack_still_look(&there, its_tid);
		from.pc = there.pc;
		from.sp = there.sp;
		stack_make(&me->ring, from.pc ? &from : NULL, its_tid, &there, &n_frames);
		spell_found(found);
		if (!can_be(found))
			fail_msg("no path is like this: %s", found);
		from_end_to_end += strlen(found) == LEVELS + 2;
	}
	__atomic_store_n(&enough, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* which have functions of their own in between */
	assert_in_range(from_end_to_end, LOOKS / 100, LOOKS);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test_setup(each_is_one_that_it_can_have, set_up) };

	return cmocka_run_group_tests_name("stack_look", tests, make_directory, remove_directory);
}
