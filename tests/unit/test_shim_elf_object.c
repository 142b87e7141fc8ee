/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of loaded libraries found without dlsym: the same that dlsym finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <string.h>

#include "shim/elf_object.h"

static void test_finds_what_dlsym_finds(void **state)
{
	static const char *const names[] = { "close", "getenv",  "mmap",          "dl_iterate_phdr",
					     "qsort", "syscall", "__cxa_finalize" };
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	struct elf_object o;

	(void)state;
	assert_non_null(libc);
	assert_true(elf_object_find(&o, "libc.so.6"));
	assert_string_equal(o.soname, "libc.so.6");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_ptr_equal(elf_object_symbol(&o, names[i]), dlsym(libc, names[i]));
	dlclose(libc);
}

static void test_nothing_is_made_up(void **state)
{
	struct elf_object o;

	(void)state;
	assert_false(elf_object_find(&o, "libcuda.so.99"));
	assert_false(elf_object_find(&o, "libc.so"));
	assert_false(elf_object_find(&o, ""));
	assert_true(elf_object_find(&o, "libc.so.6"));
	assert_null(elf_object_symbol(&o, ""));
	assert_null(elf_object_symbol(&o, "cuInit"));
	assert_null(elf_object_symbol(&o, "environ")); /* no function */
}

/* The place of a function among libc's symbols. */
static uint32_t place_of(const struct elf_object *o, const char *name)
{
	uint32_t i = 1;

	while (i < 10000 && strcmp(o->strings + o->symbols[i].st_name, name) != 0)
		i++;
	return i;
}

static void test_with_the_older_hash_table(void **state)
{
	struct elf_object o, older;
	uint32_t hash[2] = { 1, 0 }; /* DT_HASH: of it only the number of symbols is looked at */

	(void)state;
	assert_true(elf_object_find(&o, "libc.so.6"));
	older = o;
	older.gnu_hash = NULL;
	older.hash = hash;
	hash[1] = place_of(&o, "close") + 1;
	assert_ptr_equal(elf_object_symbol(&older, "close"), elf_object_symbol(&o, "close"));
	hash[1]--;
	assert_null(elf_object_symbol(&older, "close"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_what_dlsym_finds),
		cmocka_unit_test(test_nothing_is_made_up),
		cmocka_unit_test(test_with_the_older_hash_table),
	};
	return cmocka_run_group_tests_name("elf_object", tests, NULL, NULL);
}
