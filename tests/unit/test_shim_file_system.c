/* SPDX-License-Identifier: BSD-2-Clause */
/* On which file systems a trace is not mapped: by the list of mounts, and by what statfs says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/file_system.h"

#define LINE(id, point, type, options) #id " 1 8:1 / " point " rw,relatime shared:1 - " type " source " options "\n"

static char path[64];

static void write_mounts(const char *text)
{
	int fd;

	strcpy(path, "/tmp/gpushim-mounts-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static bool stalls_in(const char *mounts, const char *directory)
{
	bool stalls;

	write_mounts(mounts);
	stalls = file_system_stalls_at(path, directory);
	unlink(path);
	return stalls;
}

static void numbers(void **state)
{
	static const struct {
		uint64_t f_type;
		const char *type;
	} rows[] = {
		{ 0x6969, "nfs" },      { 0x0BD00BD0, "lustre" }, { 0x65735546, "fuse" },
		{ 0xFF534D42, "cifs" }, { 0xFE534D42, "smb3" },   { 0x01021997, "9p" },
		{ 0x00C36400, "ceph" }, { 0x47504653, "gpfs" },   { 0x19830326, "beegfs" },
		{ 0x5346414F, "afs" },  { 0x18031977, "wekafs" }, { 0xFFFFFFFFFF534D42, "cifs" }, /* sign-extended */
		{ 0xEF53, NULL },       { 0x58465342, NULL },     { 0x01021994, NULL },           /* ext4, xfs, tmpfs */
		{ 0x9123683E, NULL },   { 0x794c7630, NULL },     { 0, NULL },                    /* btrfs, overlay */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *type = file_system_stalls(rows[i].f_type);

		if (rows[i].type)
			assert_string_equal(type, rows[i].type);
		else
			assert_null(type);
	}
}

static void every_listed_type_is_found_by_name(void **state)
{
	static const char *const types[] = {
#define NETWORK_FS(type, f_type) type,
#include "shim/network_fs.def"
#undef NETWORK_FS
	};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		char mounts[256];

		snprintf(mounts, sizeof(mounts), LINE(1, "/", "ext4", "rw") LINE(2, "/net", "%s", "rw"), types[i]);
		assert_true(stalls_in(mounts, "/net/a/b"));
		assert_false(stalls_in(mounts, "/network"));
	}
}

static void the_longest_mount_decides(void **state)
{
	static const char mounts[] = LINE(1, "/", "ext4", "rw") LINE(2, "/net", "nfs4", "rw,addr=x")
		LINE(3, "/net/local", "xfs", "rw") LINE(4, "/net/local/s", "fuse.sshfs", "rw,user_id=0");

	(void)state;
	assert_false(stalls_in(mounts, "/"));
	assert_false(stalls_in(mounts, "/home/x"));
	assert_true(stalls_in(mounts, "/net"));
	assert_true(stalls_in(mounts, "/net/x"));
	assert_false(stalls_in(mounts, "/net/local"));
	assert_false(stalls_in(mounts, "/net/local/x/y"));
	assert_true(stalls_in(mounts, "/net/local/s/y"));
}

static void of_mounts_on_one_place_the_last_counts(void **state)
{
	static const char covered[] =
		LINE(1, "/", "ext4", "rw") LINE(2, "/a", "nfs", "rw") LINE(3, "/a", "tmpfs", "rw");
	static const char covering[] =
		LINE(1, "/", "ext4", "rw") LINE(2, "/a", "tmpfs", "rw") LINE(3, "/a", "nfs", "rw");

	(void)state;
	assert_false(stalls_in(covered, "/a/b"));
	assert_true(stalls_in(covering, "/a/b"));
}

static void names_that_only_begin_alike_are_others(void **state)
{
	(void)state;
	assert_true(stalls_in(LINE(1, "/", "fuse.s3fs", "rw"), "/x"));
	assert_false(stalls_in(LINE(1, "/", "fusectl", "rw"), "/x"));
	assert_false(stalls_in(LINE(1, "/", "nfsd", "rw"), "/x"));
}

static void blanks_in_a_mount_point(void **state)
{
	static const char mounts[] = LINE(1, "/", "ext4", "rw") LINE(2, "/my\\040runs\\134", "nfs", "rw");

	(void)state;
	assert_true(stalls_in(mounts, "/my runs\\/x"));
	assert_false(stalls_in(mounts, "/my runs"));
}

static void an_overlay_is_where_it_writes(void **state)
{
	static const char on_nfs[] = LINE(1, "/", "ext4", "rw") LINE(2, "/net", "nfs", "rw")
		LINE(3, "/m", "overlay", "rw,lowerdir=/l,upperdir=/net/u,workdir=/net/w");
	static const char on_disk[] = LINE(1, "/", "ext4", "rw") LINE(2, "/net", "nfs", "rw")
		LINE(3, "/m", "overlay", "rw,lowerdir=/net/l,upperdir=/u,workdir=/w");
	static const char container[] = LINE(1, "/", "overlay", "rw,lowerdir=/l,upperdir=/docker/u,workdir=/docker/w");

	(void)state;
	assert_true(stalls_in(on_nfs, "/m/x"));
	assert_false(stalls_in(on_disk, "/m/x"));
	assert_false(stalls_in(container, "/x"));
}

static void lines_that_say_nothing(void **state)
{
	char *wide = malloc(100001);

	(void)state;
	assert_false(stalls_in("", "/x"));
	assert_false(stalls_in("\n\n - \nrubbish\n1 2 3 4 /\n1 2 3 4 / -\n", "/x"));
	assert_false(file_system_stalls_at("/nowhere/mountinfo", "/x"));
	memset(wide, 'w', 100000);
	wide[100000] = 0;
	write_mounts(wide);
	assert_false(file_system_stalls_at(path, "/x"));
	unlink(path);
	free(wide);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(every_listed_type_is_found_by_name),
		cmocka_unit_test(the_longest_mount_decides),
		cmocka_unit_test(of_mounts_on_one_place_the_last_counts),
		cmocka_unit_test(names_that_only_begin_alike_are_others),
		cmocka_unit_test(blanks_in_a_mount_point),
		cmocka_unit_test(an_overlay_is_where_it_writes),
		cmocka_unit_test(lines_that_say_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
