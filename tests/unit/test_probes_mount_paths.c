/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a file system is mounted, from a list of mounts as /proc has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "shim/probes/proc_mount_paths.h"

#define DEV(major, minor) ((major) << 20 | (minor))

static const char list[] = "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
			   "30 22 8:2 / /data rw - xfs /dev/sdb rw\n"
			   "31 22 8:2 /sets/a /disk/with\\040space rw - xfs /dev/sdb rw\n"
			   "32 22 0:45 / /merged rw - overlay overlay rw\n"
			   "33 22 0:50 /@sets /sets-of rw - btrfs /dev/sdc rw\n";

static void expect(uint32_t dev, const char *inside, const char *path)
{
	char out[PATH_MAX];

	assert_true(mount_paths_in(list, out, dev, inside));
	assert_string_equal(out, path);
}

static void root(void **state)
{
	(void)state;
	expect(DEV(8, 1), "/etc/passwd", "/etc/passwd");
	expect(DEV(8, 1), "/", "/");
}

static void below_its_mount(void **state)
{
	(void)state;
	expect(DEV(8, 2), "/x.tar", "/data/x.tar");
	expect(DEV(0, 45), "/a/b", "/merged/a/b");
}

static void narrower_mount(void **state)
{
	(void)state;
	expect(DEV(8, 2), "/sets/a/x.tar", "/disk/with space/x.tar");
	expect(DEV(8, 2), "/sets/ab/x.tar", "/data/sets/ab/x.tar");
	expect(DEV(8, 2), "/sets/a", "/disk/with space");
}

static void subvolume(void **state)
{
	char out[PATH_MAX];
	(void)state;

	expect(DEV(0, 50), "/@sets/me/x", "/sets-of/me/x");
	assert_false(mount_paths_in(list, out, DEV(0, 50), "/@other/x")); /* of the same file system, mounted nowhere */
}

static void not_mounted(void **state)
{
	char out[PATH_MAX];
	(void)state;

	assert_false(mount_paths_in(list, out, DEV(9, 9), "/x"));
	assert_false(mount_paths_in("", out, DEV(8, 1), "/x"));
	assert_false(mount_paths_in("nonsense\n22 1 8:1", out, DEV(8, 1), "/x"));
}

static void later_mount_hides(void **state)
{
	char out[PATH_MAX];
	(void)state;

	assert_true(
		mount_paths_in("1 0 8:3 / /old rw - ext4 x rw\n2 0 8:3 / /new rw - ext4 x rw\n", out, DEV(8, 3), "/f"));
	assert_string_equal(out, "/new/f");
}

/* By any of its mounts, but by nothing else: a file of the same name in another folder is another file. */
static void a_path_agrees_with_its_place(void **state)
{
	(void)state;
	assert_true(mount_paths_agree_in(list, DEV(8, 2), "/sets/a/x.tar", true, "/disk/with space/x.tar"));
	assert_true(mount_paths_agree_in(list, DEV(8, 2), "/sets/a/x.tar", true, "/data/sets/a/x.tar"));
	assert_true(mount_paths_agree_in(list, DEV(8, 1), "/etc/passwd", true, "/etc/passwd"));
	assert_false(mount_paths_agree_in(list, DEV(8, 2), "/sets/b/x.tar", true, "/disk/with space/x.tar"));
	assert_false(mount_paths_agree_in(list, DEV(8, 2), "/sets/a/x.tar", true, "/data/sets/b/x.tar"));
	assert_false(mount_paths_agree_in(list, DEV(8, 1), "/sets/a/x.tar", true, "/data/sets/a/x.tar"));
	assert_false(mount_paths_agree_in(list, DEV(9, 9), "/x", true, "/x"));
}

static void a_path_agrees_with_the_end_of_its_place(void **state)
{
	(void)state;
	assert_true(mount_paths_agree_in(list, DEV(8, 2), "/a/x.tar", false, "/data/sets/a/x.tar"));
	assert_false(mount_paths_agree_in(list, DEV(8, 2), "/b/x.tar", false, "/data/sets/a/x.tar"));
	assert_false(mount_paths_agree_in(list, DEV(8, 2), "/data/sets/a/x.tar", false, "/data/sets/a/x.tar"));
	assert_false(mount_paths_agree_in(list, DEV(9, 9), "/a/x.tar", false, "/data/sets/a/x.tar"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root),
		cmocka_unit_test(below_its_mount),
		cmocka_unit_test(narrower_mount),
		cmocka_unit_test(subvolume),
		cmocka_unit_test(not_mounted),
		cmocka_unit_test(later_mount_hides),
		cmocka_unit_test(a_path_agrees_with_its_place),
		cmocka_unit_test(a_path_agrees_with_the_end_of_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
