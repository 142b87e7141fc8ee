/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_run_program.c: what /proc will have of a command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd_run_program.h"

static char dir[] = "/tmp/test_run_program_XXXXXX";

static void make(const char *name, mode_t mode)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static void expect(char *const argv[], const char *name, const char *cmdline)
{
	struct run_program p;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	run_program_guess(&p, argv);
	assert_string_equal(p.exe, path);
	assert_string_equal(p.cmdline, cmdline);
}

static void it_is_found_as_execvp_finds_it(void **state)
{
	char *train[] = { "train", "a b", "", "c", NULL }, *here[] = { "./train", NULL }, *link[] = { "link", NULL };
	char *late[] = { "late", NULL }, whole[64], *absolute[] = { whole, "-x", NULL };
	char path[256];

	(void)state;
	make("train", 0755);
	assert_int_equal(mkdir("first", 0755), 0);
	make("first/train", 0644); /* not to be executed */
	assert_int_equal(mkdir("first/late", 0755), 0);
	make("late", 0755);
	assert_int_equal(symlink("train", "link"), 0);
	snprintf(path, sizeof(path), "/nowhere:%s/first:%s", dir, dir);
	setenv("PATH", path, 1);
	expect(train, "train", "train a b  c");
	expect(here, "train", "./train");
	expect(link, "train", "link");
	expect(late, "late", "late");
	snprintf(whole, sizeof(whole), "%s/late", dir);
	snprintf(path, sizeof(path), "%s/late -x", dir);
	expect(absolute, "late", path);
	setenv("PATH", "/nowhere:", 1); /* and the current folder */
	expect(train, "train", "train a b  c");
}

static void what_is_nowhere_is_what_was_asked_for(void **state)
{
	char *argv[] = { "no-such-program", NULL }, *empty[] = { "", NULL };
	struct run_program p;

	(void)state;
	run_program_guess(&p, argv);
	assert_string_equal(p.exe, "no-such-program");
	run_program_guess(&p, empty);
	assert_string_equal(p.exe, "");
	assert_string_equal(p.cmdline, "");
}

static void what_is_too_long_is_cut(void **state)
{
	static char text[3 * sizeof(((struct run_program *)0)->cmdline)];
	char *argv[] = { text, "second", NULL };
	struct run_program p;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	run_program_guess(&p, argv);
	assert_int_equal(strlen(p.exe), sizeof(p.exe) - 1);
	assert_int_equal(strlen(p.cmdline), sizeof(p.cmdline) - 1);
	text[sizeof(p.cmdline) - 4] = 0;
	run_program_guess(&p, argv);
	assert_string_equal(p.cmdline + sizeof(p.cmdline) - 4, " se");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_found_as_execvp_finds_it),
		cmocka_unit_test(what_is_nowhere_is_what_was_asked_for),
		cmocka_unit_test(what_is_too_long_is_cut),
	};
	char command[128];
	int status;

	if (!mkdtemp(dir) || chdir(dir) != 0)
		return 1;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(command, sizeof(command), "/bin/rm -rf %s", dir);
	return system(command) ? 1 : status;
}
