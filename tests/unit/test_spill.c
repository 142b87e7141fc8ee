/* SPDX-License-Identifier: BSD-2-Clause */
/* Large arrays: in memory while they fit, then in a file; what they hold is the same. What a control group leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/spill.h"
#include "tools/spill_budget.h"

#define MB ((size_t)1 << 20)
#define BUDGET_MB 64

static bool disk_full, filled; /* filled: a file was asked for */

int __real_fallocate(int fd, int mode, off_t at, off_t bytes);
int __wrap_fallocate(int fd, int mode, off_t at, off_t bytes);

int __wrap_fallocate(int fd, int mode, off_t at, off_t bytes)
{
	filled = true;
	errno = ENOSPC;
	return disk_full ? -1 : __real_fallocate(fd, mode, at, bytes);
}

/* Is it in a mapping of a file? */
static bool is_in_file(const void *at)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[PATH_MAX + 128];
	bool found = false;

	assert_non_null(maps);
	while (!found && fgets(line, sizeof(line), maps)) {
		uintptr_t begin, end;

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) == 2 && (uintptr_t)at >= begin &&
		    (uintptr_t)at < end)
			found = strstr(line, "(deleted)") != NULL;
	}
	fclose(maps);
	return found;
}

/* Can there be such a file here at all? */
static bool has_files(void)
{
	size_t n = (BUDGET_MB + 16) * MB;
	char *at = spill_new(n, 1);
	bool in_file = is_in_file(at);

	spill_free(at);
	return in_file;
}

static uint64_t *grown(size_t upto_bytes)
{
	uint64_t *array = NULL;
	size_t cap = 0, n = 0;

	for (; n * sizeof(*array) < upto_bytes; n++) {
		assert_true(spill_room(array, n, cap));
		array[n] = n * 3;
	}
	assert_true(cap >= n);
	for (size_t i = 0; i < n; i++)
		if (array[i] != i * 3)
			fail_msg("element %zu is %" PRIu64, i, array[i]);
	return array;
}

static void test_small_ones_are_in_memory(void **state)
{
	uint64_t *a = grown(8 * MB), *b = spill_new(100, 8), *c = array_new(10, 8);

	(void)state;
	assert_false(is_in_file(a) || is_in_file(b));
	assert_int_equal(b[99], 0);
	spill_free(a);
	spill_free(b);
	spill_free(c); /* of another maker */
	spill_free(NULL);
}

static void test_what_fits_is_in_memory(void **state)
{
	uint64_t *a = grown(40 * MB);

	(void)state;
	filled = false;
	assert_false(is_in_file(a) || filled);
	spill_free(a);
	a = grown(40 * MB); /* the first one's room is there again */
	assert_false(is_in_file(a) || filled);
	spill_free(a);
}

static void test_what_does_not_fit_is_in_a_file(void **state)
{
	uint64_t *a, *b;
	char *c;

	(void)state;
	if (!has_files())
		skip();
	a = grown(100 * MB);
	assert_true(is_in_file(a));
	b = grown(40 * MB); /* what went to the file has left its room */
	assert_false(is_in_file(b));
	c = spill_new(30 * MB, 1);
	assert_true(is_in_file(c));
	for (size_t i = 0; i < 30 * MB; i += 1000)
		assert_int_equal(c[i], 0);
	spill_free(a);
	spill_free(b);
	spill_free(c);
}

static void test_a_full_disk_leaves_memory(void **state)
{
	uint64_t *a;

	(void)state;
	disk_full = true;
	a = grown(100 * MB);
	assert_false(is_in_file(a));
	disk_full = false;
	spill_free(a);
}

/* It is in a file already, and the disk has become full: that is no memory, and nothing is lost. */
static void test_a_disk_that_becomes_full(void **state)
{
	uint64_t *array;
	size_t cap = 90 * MB / 8, before = cap;

	(void)state;
	if (!has_files())
		skip();
	array = spill_new(cap, 8);
	array[cap - 1] = 7;
	disk_full = true;
	assert_null(spill_grow(array, &cap, 8));
	disk_full = false;
	assert_int_equal(cap, before);
	assert_int_equal(array[cap - 1], 7);
	spill_free(array);
}

static void test_sizes_that_cannot_be(void **state)
{
	size_t cap = SIZE_MAX / 8;

	(void)state;
	assert_null(spill_new(SIZE_MAX / 4, 8));
	assert_null(spill_grow(NULL, &cap, 8));
	assert_int_equal(cap, SIZE_MAX / 8);
}

/* ---- control groups ---- */

static char root[] = "/tmp/test_spill-XXXXXX";

static void say(const char *folder, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "mkdir -p '%s%s'", root, folder);
	assert_int_equal(system(path), 0);
	snprintf(path, sizeof(path), "%s%s/%s", root, folder, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_control_groups(void **state)
{
	char command[PATH_MAX];

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_true(spill_group_room(root, "0::/\n") == UINT64_MAX);
	say("/a/b", "memory.max", "max\n");
	say("/a/b", "memory.current", "1000\n");
	assert_true(spill_group_room(root, "0::/a/b\n") == UINT64_MAX);
	say("/a", "memory.max", "5000\n"); /* the one above is full sooner */
	say("/a", "memory.current", "1500\n");
	assert_int_equal(spill_group_room(root, "0::/a/b\n"), 3500);
	say("/a/b", "memory.max", "1200\n");
	assert_int_equal(spill_group_room(root, "12:cpu:/x\n0::/a/b\n"), 200);
	say("/a/b", "memory.max", "900\n");
	assert_int_equal(spill_group_room(root, "0::/a/b\n"), 0);
	say("", "memory.max", "800\n"); /* of the container's own root */
	assert_int_equal(spill_group_room(root, "0::/\n"), 800);
	say("/memory/docker/1", "memory.limit_in_bytes", "7000\n");
	say("/memory/docker/1", "memory.usage_in_bytes", "1\n");
	say("/memory", "memory.limit_in_bytes", "9223372036854771712\n"); /* none */
	assert_int_equal(spill_group_room(root, "4:memory:/docker/1\n"), 6999);
	assert_int_equal(spill_group_room(root, "nonsense\n::\n0:\n"), 800);
	assert_true(spill_group_room(root, "") == UINT64_MAX);
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	assert_int_equal(system(command), 0);
}

static void test_the_budget_is_what_is_said(void **state)
{
	(void)state;
	assert_int_equal(spill_budget(), BUDGET_MB * MB);
}

/* How a child that reads there ends. */
static int status_of_reader(pid_t (*make)(void), const char *at)
{
	int status = 0;
	pid_t pid = make();

	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL); /* not cmocka's */
		_exit(*(const volatile char *)at == 7 ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* Does the kernel keep a mapping from a child that is asked to? An emulator of user programs takes no notice. */
static bool hides_from_children(void)
{
	char *at = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status;

	assert_ptr_not_equal(at, MAP_FAILED);
	*at = 7;
	assert_int_equal(madvise(at, MB, MADV_DONTFORK), 0);
	status = status_of_reader(fork, at);
	munmap(at, MB);
	return status != 0;
}

/* … and the parent writes to them as before. */
static void test_a_child_has_what_is_shared(void **state)
{
	char *own = spill_new(4 * MB, 1), *shared = spill_new_shared(4 * MB), *small = spill_new(100, 1);
	char *gone = spill_new(4 * MB, 1);

	(void)state;
	spill_free(gone); /* kept for the next one */
	memset(own, 7, 4 * MB);
	memset(shared, 7, 4 * MB);
	*small = 7;
	assert_int_equal(status_of_reader(spill_fork, shared + 3 * MB), 0);
	assert_int_equal(status_of_reader(spill_fork, small), 0);
	assert_int_equal(status_of_reader(spill_fork, own + 3 * MB) != 0, hides_from_children());
	assert_int_equal(status_of_reader(fork, own + 3 * MB), 0); /* it was for that one alone */
	own[1] = 8;
	assert_int_equal(own[1] + own[2], 15);
	gone = spill_new_shared(4 * MB); /* what was kept meanwhile is for children again */
	memset(gone, 7, 4 * MB);
	assert_int_equal(status_of_reader(spill_fork, gone + 3 * MB), 0);
	spill_free(gone);
	spill_free(own);
	spill_free(shared);
	spill_free(small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_budget_is_what_is_said),
		cmocka_unit_test(test_small_ones_are_in_memory),
		cmocka_unit_test(test_what_fits_is_in_memory),
		cmocka_unit_test(test_what_does_not_fit_is_in_a_file),
		cmocka_unit_test(test_a_full_disk_leaves_memory),
		cmocka_unit_test(test_a_disk_that_becomes_full),
		cmocka_unit_test(test_sizes_that_cannot_be),
		cmocka_unit_test(test_control_groups),
		cmocka_unit_test(test_a_child_has_what_is_shared),
	};

	setenv("GPUSHIM_MEMORY_MB", "64", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
