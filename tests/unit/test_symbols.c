/* SPDX-License-Identifier: BSD-2-Clause */
/* symbols: many objects in one go; an object that ends its reader takes no other's answers with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "symbols/symbols_object.h"

/* What libdw does of a file that is malicious enough; the paths say what. */
struct object *__real_object_open(struct symbol_object *o, const struct symbol_options *options);
struct object *__wrap_object_open(struct symbol_object *o, const struct symbol_options *options);
uint32_t __real_object_places(struct object *object, uint64_t address, struct symbol_place places[SYMBOLS_INLINED]);
uint32_t __wrap_object_places(struct object *object, uint64_t address, struct symbol_place places[SYMBOLS_INLINED]);

#define DIES_AT 0xdead

struct object *__wrap_object_open(struct symbol_object *o, const struct symbol_options *options)
{
	if (strcmp(o->path, "/crashes") == 0)
		raise(SIGKILL);
	if (strcmp(o->path, "/hangs") == 0) {
		alarm(1); /* the reader's own is longer */
		for (;;)
			pause();
	}
	return __real_object_open(o, options);
}

uint32_t __wrap_object_places(struct object *object, uint64_t address, struct symbol_place places[SYMBOLS_INLINED])
{
	if (address == DIES_AT)
		raise(SIGKILL);
	return __real_object_places(object, address, places);
}

static char self[256];
static struct symbol_object own; /* this program */
static uint64_t own_address;     /* of find_self, as linked */
static const struct symbol_options plain;

static int first_object(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uint64_t *)bias = info->dlpi_addr;
	return 1;
}

static int find_self(void **state)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const void *id = NULL;
	uint64_t bias = 0;
	Elf *elf;

	(void)state;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	own.path = self;
	own.n_build_id = (uint32_t)dwelf_elf_gnu_build_id(elf, &id);
	if (n <= 0 || !id || own.n_build_id > SYMBOLS_BUILD_ID)
		return -1;
	memcpy(own.build_id, id, own.n_build_id);
	elf_end(elf);
	close(fd);
	dl_iterate_phdr(first_object, &bias);
	own_address = (uint64_t)(uintptr_t)find_self - bias;
	return 0;
}

static void assert_own(const struct symbol_query *query)
{
	assert_int_equal(query->n_places, 1);
	assert_string_equal(query->places[0].function, "find_self");
	assert_string_equal(query->places[0].file + strlen(query->places[0].file) - strlen("test_symbols.c"),
			    "test_symbols.c");
}

static void test_an_object_that_ends_its_reader(void **state)
{
	struct symbol_object objects[] = { own, { .path = "/crashes" }, { .path = "/none" }, { .path = "/hangs" },
					   own, { .path = "/crashes" } };
	struct symbol_query queries[] = { { .object = 0, .address = own_address },
					  { .object = 1, .address = 1 },
					  { .object = 1, .address = 2 },
					  { .object = 3, .address = 1 },
					  { .object = 4, .address = own_address } };
	const enum symbols_state states[] = { SYMBOLS_FOUND,  SYMBOLS_FAILED, SYMBOLS_MISSING,
					      SYMBOLS_FAILED, SYMBOLS_FOUND,  SYMBOLS_FAILED };
	struct arena arena = { 0 };
	struct error e;

	(void)state;
	assert_int_equal(symbols_resolve(objects, 6, queries, 5, &plain, &arena, &e), ERR_NONE);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(objects[i].state, states[i]);
	for (size_t i = 1; i < 4; i++)
		assert_int_equal(queries[i].n_places, 0);
	assert_own(&queries[0]);
	assert_own(&queries[4]);
	arena_free(&arena);
}

/* Each may take a minute: a trace that names any number of them does not keep the reader for hours. */
static void test_many_that_end_their_reader(void **state)
{
	enum { N = 40, TRIED = 16 };
	struct symbol_object objects[N];
	struct symbol_query query = { .object = N - 1, .address = own_address };
	struct arena arena = { 0 };
	struct error e;

	(void)state;
	for (size_t i = 0; i < N; i++)
		objects[i] = i == N - 1 ? own : (struct symbol_object){ .path = "/crashes" };
	assert_int_equal(symbols_resolve(objects, N, &query, 1, &plain, &arena, &e), ERR_NONE);
	for (size_t i = 0; i < N; i++)
		assert_int_equal(objects[i].state, i < TRIED ? SYMBOLS_FAILED : SYMBOLS_LEFT);
	assert_int_equal(query.n_places, 0);
	assert_non_null(symbols_trouble(SYMBOLS_LEFT));
	arena_free(&arena);
}

/* What had been answered of it before is not believed either. */
static void test_an_object_that_ends_its_reader_late(void **state)
{
	struct symbol_object objects[] = { own, own };
	struct symbol_query queries[] = { { .object = 0, .address = own_address },
					  { .object = 0, .address = DIES_AT },
					  { .object = 0, .address = 2 },
					  { .object = 1, .address = own_address } };
	struct arena arena = { 0 };
	struct error e;

	(void)state;
	assert_int_equal(symbols_resolve(objects, 2, queries, 4, &plain, &arena, &e), ERR_NONE);
	assert_int_equal(objects[0].state, SYMBOLS_FAILED);
	assert_int_equal(objects[1].state, SYMBOLS_FOUND);
	assert_own(&queries[3]);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(queries[i].n_places, 0);
	arena_free(&arena);
}

static void test_nothing_to_ask(void **state)
{
	struct arena arena = { 0 };
	struct error e;

	(void)state;
	assert_int_equal(symbols_resolve(NULL, 0, NULL, 0, &plain, &arena, &e), ERR_NONE);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_object_that_ends_its_reader),
		cmocka_unit_test(test_many_that_end_their_reader),
		cmocka_unit_test(test_an_object_that_ends_its_reader_late),
		cmocka_unit_test(test_nothing_to_ask),
	};

	return cmocka_run_group_tests(tests, find_self, NULL);
}
