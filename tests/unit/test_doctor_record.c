/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks of `gpushim doctor`: what a recording needs, and the trials. */
#include "doctor_machine.h"

static void test_the_driver(void **state)
{
	(void)state;
	put("/proc/driver/nvidia/version",
	    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.10  Release Build\n");
	m.driver.init = 803;
	expect("driver", DOCTOR_LIMITED, "CUDA 12.4, kernel module 570.86.10", "");
	m.driver.path[0] = 0;
	strcpy(m.driver.why, "libcuda.so.1: file too short");
	expect("driver", DOCTOR_MISSING, "libcuda.so.1 cannot be loaded: file too short", "sudo ldconfig");
	assert_false(d.can_record);
	m.load = (struct doctor_trial){ .signal = SIGSEGV };
	expect("driver", DOCTOR_MISSING, "was killed by Segmentation fault", "sudo ldconfig");
	m.load = (struct doctor_trial){ .done = true };
	m.driver.can_load = false;
	expect("driver", DOCTOR_LIMITED, "static", "");
	assert_true(d.can_record);
}

static void test_levels(void **state)
{
	(void)state;
	set_env("CUDA_DEVICE_MAX_CONNECTIONS", "1");
	expect("device-level", DOCTOR_LIMITED, "level host", "unset CUDA_DEVICE_MAX_CONNECTIONS");
	assert_string_equal(d.level, "host");
	n_env = 0;
	set_env("GPUSHIM_DEVICE", "edges");
	expect("device-level", DOCTOR_OK, "edges", "");
	assert_string_equal(d.level, "edges");
	n_env = 0;
	set_env("GPUSHIM_DEVICE", "best");
	expect("device-level", DOCTOR_LIMITED, "GPUSHIM_DEVICE=best is no level", "unset GPUSHIM_DEVICE");
	assert_string_equal(d.level, "bursts");
	n_env = 0;
	set_env("GPUSHIM_DEVICE", "cupti");
	examine("device-level");
	assert_string_equal(d.level, "cupti");
	set_env("CUDA_INJECTION64_PATH", "/opt/nsight/libToolsInjection64.so");
	expect("other-tools", DOCTOR_LIMITED, "/opt/nsight/libToolsInjection64.so", "unset CUDA_INJECTION64_PATH");
	assert_string_equal(d.level, "bursts");
	set_env("GPUSHIM", "off");
	expect("device-level", DOCTOR_MISSING, "GPUSHIM=off", "unset GPUSHIM");
	assert_string_equal(d.level, "off");
	assert_false(d.can_record);
}

static void test_other_tools(void **state)
{
	char path[128];
	int fd;

	(void)state;
	set_env("NVTX_INJECTION64_PATH", "/opt/gpushim/lib/libgpushim.so");
	expect("other-tools", DOCTOR_OK, "none", "");
	n_env = 0;
	set_env("NVTX_INJECTION64_PATH", "/opt/other.so");
	expect("other-tools", DOCTOR_LIMITED, "NVTX_INJECTION64_PATH is /opt/other.so", "unset NVTX_INJECTION64_PATH");
	put("/tmp/nsight-compute-lock", "");
	expect("other-tools", DOCTOR_LIMITED, "NVTX_INJECTION64_PATH", "unset NVTX_INJECTION64_PATH");
	snprintf(path, sizeof(path), "%s/tmp/nsight-compute-lock", root);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	expect("other-tools", DOCTOR_LIMITED, "Nsight Compute is at work", "");
	close(fd);
}

static void test_the_run_directory(void **state)
{
	(void)state;
	m.place.type = 0x6969;
	expect("run-directory", DOCTOR_LIMITED, "nfs", "export GPUSHIM_OUT=/local/dir/gpushim-out");
	m.place.type = 0xef53;
	m.place.free_bytes = 1ull << 30;
	expect("run-directory", DOCTOR_LIMITED, "1.0 GiB free", "export GPUSHIM_LIMIT=512M");
	m.place.free_bytes = 1000000;
	expect("run-directory", DOCTOR_MISSING, "free", "export GPUSHIM_OUT=/dir/with/more/room");
	assert_false(d.can_record);
	m.write = (struct doctor_trial){ .done = true, .error = EROFS };
	m.place.step = "to make a file";
	expect("run-directory", DOCTOR_MISSING, "to make a file was refused: Read-only file system",
	       "export GPUSHIM_OUT=/tmp/gpushim-out");
	m.write = (struct doctor_trial){ .timeout = true };
	expect("run-directory", DOCTOR_MISSING, "did not come back", "export GPUSHIM_OUT=/tmp/gpushim-out");
}

static void test_python(void **state)
{
	(void)state;
	set_env("PATH", "/none:relative:/usr/bin:/venv/bin");
	expect("python", DOCTOR_OK, "none found", "");
	put("/usr/bin/python3.11", "");
	put("/usr/bin/python3.11-config", "");
	put_link("/usr/bin/python3", "python3.11");
	expect("python", DOCTOR_OK, "3.11 in PATH", "");
	put("/opt/cpython/python3.9", "");
	put_link("/venv/bin/python", "../../opt/cpython/python3.9");
	expect("python", DOCTOR_LIMITED, "3.9, 3.11 in PATH", "");
	put("/usr/bin/python3.99999999999", "");
	expect("python", DOCTOR_LIMITED, "3.9, 3.11 in PATH", "");
}

/* ---- the trials ------------------------------------------------------------------------------------- */

static int dies(void *answer)
{
	(void)answer;
	raise(SIGSYS);
	return 0;
}

static int hangs(void *answer)
{
	*(int *)answer = 7;
	pause();
	return 0;
}

static int answers(void *answer)
{
	puts("a library's own words");
	*(int *)answer += 1;
	return ENOENT;
}

static void test_a_child_that_dies_or_hangs(void **state)
{
	struct doctor_trial trial;
	int value = 41;

	(void)state;
	doctor_child(&trial, answers, &value, sizeof(value), 10);
	assert_true(trial.done);
	assert_int_equal(trial.error, ENOENT);
	assert_int_equal(value, 42);
	doctor_child(&trial, dies, NULL, 0, 10);
	assert_false(trial.done);
	assert_int_equal(trial.signal, SIGSYS);
	doctor_child(&trial, hangs, &value, sizeof(value), 1);
	assert_true(trial.timeout && !trial.done);
	assert_int_equal(value, 42);
}

static void test_a_place_is_left_as_it_was(void **state)
{
	char dir[128];
	struct stat before, after;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/proc/new/deeper", root);
	doctor_try_place(&m, dir);
	assert_true(m.write.done && m.write.error == 0);
	assert_string_equal(m.place.dir, dir);
	assert_int_equal(access(dir, F_OK), -1);
	assert_int_equal(strlen(m.place.there), strlen(root) + strlen("/proc"));
	assert_int_equal(stat(root, &before), 0);
	doctor_try_place(&m, root);
	assert_true(m.write.done && m.write.error == 0 && m.place.stat_done && m.place.free_bytes > 0);
	assert_int_equal(stat(root, &after), 0);
	assert_int_equal(before.st_nlink, after.st_nlink);
	snprintf(dir, sizeof(dir), "%s/proc/self/status/under-a-file", root);
	doctor_try_place(&m, dir);
	assert_int_equal(m.write.error, ENOTDIR);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, good_machine, remove_machine)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_driver),
		TEST(test_levels),
		TEST(test_other_tools),
		TEST(test_the_run_directory),
		TEST(test_python),
		TEST(test_a_child_that_dies_or_hangs),
		TEST(test_a_place_is_left_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
