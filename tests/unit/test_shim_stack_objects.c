/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects that stacks go through, when they are not what they were: unloaded, replaced, their pages gone or not to be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/resolve.h"
#include "shim/stack_objects.h"
#include "stack_emulated.h"

#define NOT_HERE 77

static char directory[64], name[96];
static uint8_t *contents; /* of a library of libc's that nothing here needs */
static size_t bytes;

static void store(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0755);

	assert_true(fd >= 0 && write(fd, contents, bytes) == (ssize_t)bytes);
	close(fd);
}

static int copy_library(void **state)
{
	void *library = dlopen("libm.so.6", RTLD_NOW);
	struct stat st;
	Dl_info info;
	int fd;

	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/gpushim-objects-XXXXXX");
	if (!library || !dladdr(resolve_real_dlsym(library, "cbrt"), &info) || !mkdtemp(directory))
		return -1;
	fd = open(info.dli_fname, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) != 0)
		return -1;
	bytes = (size_t)st.st_size;
	contents = malloc(bytes);
	snprintf(name, sizeof(name), "%s/library.so", directory);
	if (!contents || read(fd, contents, bytes) != (ssize_t)bytes)
		return -1;
	close(fd);
	return 0;
}

static int remove_library(void **state)
{
	char command[128];

	(void)state;
	free(contents);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

static int store_anew(void **state)
{
	(void)state;
	unlink(name);
	store(name);
	stack_objects_forget();
	return 0;
}

/* What a walk finds that goes through the function: the object, and how it is left. */
static const struct stack_object *go_through(const void *function, unsigned *kind)
{
	uint16_t object;

	stack_objects_begin();
	*kind = stack_objects_rule((uintptr_t)function, &object).kind;
	stack_objects_use(object);
	return stack_object_at(object);
}

/* The same when it holds. */
static const struct stack_object *object_of(const void *function, unsigned *kind)
{
	for (unsigned i = 0; i < 3; i++) {
		const struct stack_object *o = go_through(function, kind);

		if (stack_objects_hold())
			return o;
	}
	*kind = STACK_RULE_END;
	return NULL;
}

static void unloaded(void **state)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL), *function;
	const struct stack_object *o;
	unsigned kind;

	(void)state;
	assert_non_null(library);
	function = resolve_real_dlsym(library, "cbrt");
	o = object_of(function, &kind);
	assert_non_null(o);
	assert_int_equal(kind, STACK_RULE_SP);
	assert_true(o->build_id_bytes > 0);
	assert_non_null(go_through(function, &kind));
	dlclose(library);
	assert_false(stack_objects_hold());
	assert_null(object_of(function, &kind));
	assert_int_equal(kind, STACK_RULE_NONE);
}

static void skip_because(const char *why)
{
	printf("skip: %s\n", why);
	skip();
}

/* Of the same name and size, so at the same addresses; its build-id is another one. */
static void replaced(void **state)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL), *place;
	const struct stack_object *o;
	uint8_t before, *note;
	unsigned kind;

	(void)state;
	assert_non_null(library);
	place = resolve_real_dlsym(library, "cbrt");
	o = object_of(place, &kind);
	assert_non_null(o);
	note = memmem(contents, bytes, o->build_id, o->build_id_bytes);
	assert_non_null(note);
	before = *note;
	dlclose(library);
	unlink(name);
	*note ^= 0xff;
	store(name);
	*note ^= 0xff;
	library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(library);
	if (resolve_real_dlsym(library, "cbrt") != place)
		skip_because("the same library goes to another place here");
	assert_non_null(go_through(place, &kind)); /* as far as we know … */
	assert_false(stack_objects_hold());
	o = object_of(place, &kind);
	assert_non_null(o);
	assert_int_equal(o->build_id[0], before ^ 0xff);
	assert_int_equal(kind, STACK_RULE_SP);
	dlclose(library);
}

/* What it finds out in a process of its own, whose library is no good afterwards. */
static void in_a_child(int (*work)(const void *function, const void *other))
{
	int status;
	pid_t child = fork();

	if (!child) {
		void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

		alarm(20);
		signal(SIGBUS, SIG_DFL);
		signal(SIGSEGV, SIG_DFL);
		_exit(library ? work(resolve_real_dlsym(library, "cbrt"), resolve_real_dlsym(library, "erf")) : 100);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status == NOT_HERE << 8)
		skip_because("a file's memory outlives its bytes here");
	assert_int_equal(status, 0);
}

/* An emulator may have copied what it maps. */
static bool is_there(uint64_t at)
{
	int ends[2];
	bool there = pipe(ends) == 0 && write(ends[1], (const void *)(uintptr_t)at, 1) == 1;

	close(ends[0]);
	close(ends[1]);
	return there;
}

static int without_its_file(const void *function, const void *other)
{
	const struct stack_object *o;
	unsigned kind;

	o = object_of(function, &kind);
	if (!o || kind != STACK_RULE_SP)
		return 1;
	if (truncate(name, 0) != 0)
		return 2;
	if (is_there(o->begin))
		return NOT_HERE;
	go_through(other, &kind); /* another place: nothing is remembered of it */
	if (kind != STACK_RULE_NONE || stack_objects_hold())
		return 3;
	return object_of(function, &kind) ? 4 : 0;
}

static void whose_file_is_gone(void **state)
{
	(void)state;
	in_a_child(without_its_file);
}

static int without_its_first_page(const void *function, const void *other)
{
	const struct stack_object *o;
	void *first;
	unsigned kind;

	o = object_of(function, &kind);
	if (!o || kind != STACK_RULE_SP)
		return 1;
	first = (void *)(uintptr_t)o->begin;
	if (mprotect(first, 4096, PROT_NONE) != 0)
		return 2;
	if (object_of(other, &kind) || kind != STACK_RULE_NONE)
		return 4;
	if (mprotect(first, 4096, PROT_READ) != 0)
		return 5;
	stack_objects_forget();
	return object_of(function, &kind) && kind == STACK_RULE_SP ? 0 : 6;
}

static void whose_first_page_is_not_to_be_read(void **state)
{
	(void)state;
	in_a_child(without_its_first_page);
}

static int with_notes_elsewhere(const void *function, const void *other)
{
	const struct stack_object *o;
	struct elf_headers h;
	unsigned kind;

	o = object_of(function, &kind);
	if (!o || !o->build_id_bytes || !elf_headers_read(&h, &o->entry.map) ||
	    mprotect((void *)(uintptr_t)o->begin, 4096, PROT_READ | PROT_WRITE) != 0)
		return 1;
	for (unsigned i = 0; i < h.n; i++) {
		ElfW(Phdr) *p = (ElfW(Phdr) *)(uintptr_t)h.at + i;

		if (p->p_type == PT_NOTE)
			p->p_vaddr = 64ull << 40;
	}
	stack_objects_forget();
	o = object_of(other, &kind);
	return o && !o->build_id_bytes && kind == STACK_RULE_SP ? 0 : 3;
}

static void whose_notes_are_not_there(void **state)
{
	(void)state;
	in_a_child(with_notes_elsewhere);
}

static void the_kernels_own(void **state)
{
	uint64_t at = getauxval(AT_SYSINFO_EHDR);
	uint16_t object;

	(void)state;
	if (!at)
		skip();
	stack_objects_begin();
	stack_objects_rule(at + 1, &object);
	assert_int_not_equal(object, STACK_NO_OBJECT);
	assert_true(stack_object_at(object)->is_kernels);
	assert_false(stack_object_at(object)->is_program);
	stack_objects_rule((uintptr_t)the_kernels_own, &object);
	assert_true(stack_object_at(object)->is_program);
	assert_true(stack_object_at(object)->own); /* the recorder is a part of this program */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(unloaded, store_anew),
		cmocka_unit_test_setup(replaced, store_anew),
		cmocka_unit_test_setup(whose_file_is_gone, store_anew),
		cmocka_unit_test_setup(whose_first_page_is_not_to_be_read, store_anew),
		cmocka_unit_test_setup(whose_notes_are_not_there, store_anew),
		cmocka_unit_test_setup(the_kernels_own, store_anew),
	};

	return cmocka_run_group_tests_name("stack_objects", tests, copy_library, remove_library);
}
