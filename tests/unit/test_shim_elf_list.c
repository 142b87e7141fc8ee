/* SPDX-License-Identifier: BSD-2-Clause */
/* The loader's list without its lock: the same objects as dl_iterate_phdr says, the same symbols as dlsym finds; and lists that make no sense,
 * or change, or lie in memory that is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "shim/elf_list.h"
#include "shim/elf_object.h"
#include "shim/elf_tables.h"
#include "shim/resolve.h"
#include "shim/stack_objects.h"
#include "stack_emulated.h"

/* ---- the same as the loader says ------------------------------------------------------------------------------------------ */

struct expected {
	unsigned n;
	struct {
		uint64_t bias, headers, n_headers;
	} object[64];
};

static int expect(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct expected *e = arg;

	(void)size;
	assert_true(e->n < 64);
	e->object[e->n].bias = info->dlpi_addr;
	e->object[e->n].headers = (uintptr_t)info->dlpi_phdr;
	e->object[e->n++].n_headers = info->dlpi_phnum;
	return 0;
}

static void the_objects_that_the_loader_lists(void **state)
{
	static struct elf_list l;
	struct expected e = { .n = 0 };
	struct elf_headers h;
	unsigned n = 0;

	(void)state;
	dl_iterate_phdr(expect, &e);
	elf_list_begin(&l, elf_list_debug());
	while (elf_list_next(&l)) {
		assert_true(n < e.n);
		assert_true(elf_headers_read(&h, &l.entry.map));
		assert_int_equal(l.entry.map.l_addr, e.object[n].bias);
		assert_int_equal(h.at, e.object[n].headers);
		assert_int_equal(h.n, e.object[n++].n_headers);
	}
	assert_int_equal(n, e.n);
	assert_in_range(n, 3, 64); /* the program, libc, the loader itself */
	assert_false(l.torn);
	assert_true(elf_list_ends_as_it_did(&l));
	assert_int_equal(l.n_spaces, 1);
}

static bool find_tables(struct elf_tables *t, const char *soname)
{
	static struct elf_list l;

	elf_list_begin(&l, elf_list_debug());
	while (elf_list_next(&l))
		if (elf_tables_read(t, &l.entry.map) && elf_tables_is(t, soname))
			return true;
	return false;
}

static void the_symbols_that_dlsym_finds(void **state)
{
	static const char *const names[] = { "close", "getenv", "mmap", "qsort", "syscall", "__cxa_finalize" };
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	struct elf_tables t;
	ElfW(Sym) s;

	(void)state;
	assert_non_null(libc);
	assert_true(find_tables(&t, "libc.so.6"));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_true(elf_tables_find(&t, names[i], &s));
		assert_int_equal(t.bias + s.st_value, (uintptr_t)resolve_real_dlsym(libc, names[i]));
	}
	assert_true(elf_tables_find(&t, "environ", &s)); /* a variable */
	assert_false(elf_tables_find(&t, "", &s));
	assert_false(elf_tables_find(&t, "cuInit", &s));
	assert_false(find_tables(&t, "libc.so"));
	assert_ptr_equal(elf_object_definition("qsort"), resolve_real_dlsym(RTLD_DEFAULT, "qsort"));
	assert_null(elf_object_definition("environ"));
	assert_null(elf_object_definition("nobody_defines_this"));
	dlclose(libc);
}

/* DT_HASH: one bucket, with the symbols in the order 3, 1, 2. */
static void by_the_older_hash_table(void **state)
{
	static const char strings[] = "\0first\0second\0third";
	static const ElfW(Sym) symbols[] = {
		{ 0 },
		{ .st_name = 1, .st_info = STT_FUNC, .st_shndx = 1, .st_value = 0x10 },
		{ .st_name = 7, .st_info = STT_FUNC, .st_shndx = SHN_UNDEF, .st_value = 0x20 },
		{ .st_name = 14, .st_info = STT_OBJECT, .st_shndx = 1, .st_value = 0x30 },
	};
	static uint32_t hash[] = { 1, 4, 3, 0, 2, 0, 1 };
	const struct elf_tables t = { .symbols = (uintptr_t)symbols,
				      .strings = (uintptr_t)strings,
				      .hash = (uintptr_t)hash };
	ElfW(Sym) s;

	(void)state;
	assert_true(elf_tables_find(&t, "first", &s));
	assert_int_equal(s.st_value, 0x10);
	assert_true(elf_tables_find(&t, "third", &s));
	assert_int_equal(s.st_value, 0x30);
	assert_false(elf_tables_find(&t, "second", &s));
	hash[6] = 3; /* a circle */
	assert_false(elf_tables_find(&t, "fourth", &s));
}

/* ---- lists of our own ------------------------------------------------------------------------------------------------------ */

#define MAPS 6

static struct {
	struct r_debug debug;
	uint64_t next;
} spaces[2];
static struct link_map maps[MAPS];

/* maps from `from` on, as many as n. */
static void link_together(struct r_debug *debug, unsigned from, unsigned n)
{
	for (unsigned i = from; i < from + n; i++) {
		maps[i].l_addr = 0x1000 * i;
		maps[i].l_prev = i > from ? &maps[i - 1] : NULL;
		maps[i].l_next = i + 1 < from + n ? &maps[i + 1] : NULL;
	}
	debug->r_version = 1;
	debug->r_map = n ? &maps[from] : NULL;
}

static unsigned count(struct elf_list *l)
{
	unsigned n = 0;

	elf_list_begin(l, (uintptr_t)&spaces[0]);
	while (elf_list_next(l))
		n++;
	return n;
}

static void lists_without_sense(void **state)
{
	uint8_t *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static struct elf_list l;

	(void)state;
	link_together(&spaces[0].debug, 0, MAPS);
	assert_int_equal(count(&l), MAPS);
	assert_false(l.torn);
	maps[MAPS - 1].l_next = &maps[2]; /* a circle */
	assert_int_equal(count(&l), MAPS);
	assert_true(l.torn);
	maps[MAPS - 1].l_next = (struct link_map *)gone;
	assert_int_equal(count(&l), MAPS);
	assert_true(l.torn);
	assert_false(elf_list_ends_as_it_did(&l));
	maps[MAPS - 1].l_next = (struct link_map *)((uintptr_t)&maps[2] + 1);
	assert_int_equal(count(&l), MAPS);
	assert_true(l.torn);
	link_together(&spaces[0].debug, 0, MAPS);
	maps[3].l_prev = &maps[1]; /* it has been taken out, or its memory given to another */
	assert_int_equal(count(&l), 3);
	assert_true(l.torn);
	maps[0].l_prev = maps[0].l_next = &maps[0];
	assert_int_equal(count(&l), 0);
	assert_true(l.torn);
	elf_list_begin(&l, 0);
	assert_false(elf_list_next(&l));
	assert_true(l.torn);
	elf_list_begin(&l, (uintptr_t)gone);
	assert_false(elf_list_next(&l));
	assert_true(l.torn);
	munmap(gone, 4096);
}

static void what_comes_and_goes_at_the_end(void **state)
{
	static struct elf_list l;

	(void)state;
	link_together(&spaces[0].debug, 0, MAPS - 1);
	assert_int_equal(count(&l), MAPS - 1);
	assert_true(elf_list_ends_as_it_did(&l));
	link_together(&spaces[0].debug, 0, MAPS);
	assert_false(elf_list_ends_as_it_did(&l));
	assert_int_equal(count(&l), MAPS);
	link_together(&spaces[0].debug, 0, MAPS - 1);
	assert_false(elf_list_ends_as_it_did(&l)); /* the last one still has its memory, but nothing leads to it */
	link_together(&spaces[0].debug, 0, MAPS);
	assert_true(elf_list_ends_as_it_did(&l));
	maps[MAPS - 1].l_addr++; /* another one at its place */
	assert_false(elf_list_ends_as_it_did(&l));
	link_together(&spaces[0].debug, 0, 1);
	assert_int_equal(count(&l), 1);
	assert_true(elf_list_ends_as_it_did(&l));
}

static void other_namespaces(void **state)
{
	static struct elf_list l;

	(void)state;
	link_together(&spaces[0].debug, 0, 2);
	link_together(&spaces[1].debug, 2, 3);
	spaces[0].next = (uintptr_t)&spaces[1];
	spaces[1].next = 0;
	assert_int_equal(count(&l), 2); /* of version 1: there is nothing behind it */
	spaces[0].debug.r_version = spaces[1].debug.r_version = 2;
	assert_false(elf_list_ends_as_it_did(&l));
	assert_int_equal(count(&l), 5);
	assert_int_equal(l.n_spaces, 2);
	assert_true(elf_list_ends_as_it_did(&l));
	link_together(&spaces[1].debug, 2, 4);
	spaces[1].debug.r_version = 2;
	assert_false(elf_list_ends_as_it_did(&l));
	link_together(&spaces[1].debug, 2, 0); /* all unloaded */
	spaces[1].debug.r_version = 2;
	assert_int_equal(count(&l), 2);
	assert_false(l.torn);
	assert_true(elf_list_ends_as_it_did(&l));
	spaces[1].next = (uintptr_t)&spaces[0]; /* a circle */
	count(&l);
	assert_true(l.torn);
}

static void a_library_that_is_loaded(void **state)
{
	static struct elf_list l;
	struct elf_tables t;
	unsigned before;
	void *library;

	(void)state;
	assert_false(find_tables(&t, "libanl.so.1"));
	elf_list_begin(&l, elf_list_debug());
	while (elf_list_next(&l))
		;
	before = l.n;
	library = dlopen("libanl.so.1", RTLD_NOW);
	if (!library)
		skip();
	assert_false(elf_list_ends_as_it_did(&l));
	assert_true(find_tables(&t, "libanl.so.1"));
	dlclose(library);
	elf_list_begin(&l, elf_list_debug());
	while (elf_list_next(&l))
		;
	assert_int_equal(l.n, before);
	assert_false(l.torn);
}

/* ---- beside who has its lock ------------------------------------------------------------------------------------------------ */

static sem_t listing, done;

static void *looks(void *arg)
{
	void **found = arg;
	uint16_t object;

	sem_wait(&listing);
	stack_objects_begin();
	stack_objects_rule((uintptr_t)looks, &object);
	found[0] = elf_object_definition("qsort");
	stack_objects_use(object);
	found[1] = object != STACK_NO_OBJECT && stack_objects_hold() ? arg : NULL;
	sem_post(&done);
	return NULL;
}

static int waits_for_it(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct timespec end;

	(void)info, (void)size, (void)arg;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 20;
	sem_post(&listing);
	return sem_timedwait(&done, &end) == 0 ? 1 : -1;
}

static void while_another_thread_has_the_loaders_lock(void **state)
{
	void *found[2] = { NULL, NULL };
	pthread_t thread;

	(void)state;
	sem_init(&listing, 0, 0);
	sem_init(&done, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, looks, found), 0);
	assert_int_equal(dl_iterate_phdr(waits_for_it, NULL), 1);
	pthread_join(thread, NULL);
	assert_ptr_equal(found[0], resolve_real_dlsym(RTLD_DEFAULT, "qsort"));
	assert_non_null(found[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_objects_that_the_loader_lists),
		cmocka_unit_test(the_symbols_that_dlsym_finds),
		cmocka_unit_test(by_the_older_hash_table),
		cmocka_unit_test(lists_without_sense),
		cmocka_unit_test(what_comes_and_goes_at_the_end),
		cmocka_unit_test(other_namespaces),
		cmocka_unit_test(a_library_that_is_loaded),
		cmocka_unit_test(while_another_thread_has_the_loaders_lock),
	};

	return cmocka_run_group_tests_name("elf_list", tests, NULL, NULL);
}
