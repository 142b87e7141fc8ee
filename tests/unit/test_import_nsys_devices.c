/* SPDX-License-Identifier: BSD-2-Clause */
/* Which GPU a process's device is, as far as Nsight's export says it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/import_files.h"
#include "tests/unit/import_seen.h"

/* Processes 100 and 200 both have a device 0. */
#define WORK                                                                                                         \
	"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"                                               \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, globalPid INTEGER);" \
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1,2,0,100 << 24), (3,4,0,200 << 24);"                        \
	"CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, uuid TEXT, cuDevice INTEGER);"    \
	"INSERT INTO TARGET_INFO_GPU VALUES (5,'H100',80,'110bc05b-778a-a2aa-f210-230b5a8ea938',0);"
#define ANOTHER "INSERT INTO TARGET_INFO_GPU VALUES (6,'H200',141,'220bc05b-778a-a2aa-f210-230b5a8ea9ee',1);"
#define MAPPED(rows)                                                                                                                          \
	"CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER); INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES " rows \
	";"

static struct import_build seen;
static struct error err, damage;

static void expect(const char *sql, const char *lines)
{
	char *devices, *end;

	seen_free(&seen);
	put_sql("a", sql);
	assert_int_equal(import_nsys(&seen, in_folder("a"), &damage, &err), ERR_NONE);
	devices = strstr(seen.lines, "\ndevice ");
	assert_non_null(devices++);
	end = strstr(devices, "warn ");
	assert_non_null(end);
	*end = '\0';
	assert_string_equal(devices, lines);
	unlink(in_folder("a"));
}

static void test_the_only_gpu_is_meant(void **state)
{
	(void)state;
	expect(WORK, "device 100/0 H100 memory=80 uuid=110b..38\ndevice 200/0 H100 memory=80 uuid=110b..38\n");
}

/* Each may have seen another one: CUDA_VISIBLE_DEVICES. */
static void test_which_of_several_is_not_guessed(void **state)
{
	(void)state;
	expect(WORK ANOTHER, "device 100/0 H100 memory=80 uuid=0000..00\ndevice 200/0 H100 memory=80 uuid=0000..00\n");
}

static void test_what_is_said_counts(void **state)
{
	(void)state;
	expect(WORK ANOTHER MAPPED("(5,0,100), (6,0,200)"),
	       "device 100/0 H100 memory=80 uuid=110b..38\ndevice 200/0 H200 memory=141 uuid=220b..ee\n");
	expect(WORK ANOTHER MAPPED("(6,0,100), (6,1,200)"),
	       "device 200/0 H100 memory=80 uuid=0000..00\ndevice 100/0 H200 memory=141 uuid=220b..ee\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_only_gpu_is_meant),
		cmocka_unit_test(test_which_of_several_is_not_guessed),
		cmocka_unit_test(test_what_is_said_counts),
	};
	int failed = cmocka_run_group_tests(tests, folder_begin, folder_end);

	seen_free(&seen);
	return failed;
}
