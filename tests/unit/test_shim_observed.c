/* SPDX-License-Identifier: BSD-2-Clause */
/* observed.c: who is let, in which processes; the program sees nothing of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "observed.h"

static int let, times;

int __real_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
int __wrap_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);

int __wrap_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	if (option != PR_SET_PTRACER)
		return __real_prctl(option, a, b, c, d);
	let = (int)a;
	times++;
	errno = EINVAL;
	return -1;
}

static void start_with(const char *value)
{
	let = times = 0;
	if (value)
		setenv("GPUSHIM_OBSERVER", value, 1);
	else
		unsetenv("GPUSHIM_OBSERVER");
	observed_start();
}

static unsigned long long space(void)
{
	struct stat st;

	assert_int_equal(stat("/proc/self/ns/pid", &st), 0);
	return st.st_ino;
}

static void nobody_is_let_unasked(void **state)
{
	static const char *const values[] = { NULL, "", "x", "12", "-1:5", "0:5", "12:" };
	char elsewhere[64];

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		start_with(values[i]);
		assert_int_equal(times, 0);
	}
	snprintf(elsewhere, sizeof(elsewhere), "12:%llu", space() + 1);
	start_with(elsewhere); /* its number is of another namespace */
	assert_int_equal(times, 0);
}

static void each_process_lets_it(void **state)
{
	char value[64];
	int status;
	pid_t child;

	(void)state;
	snprintf(value, sizeof(value), "4321:%llu", space());
	start_with(value);
	assert_int_equal(let, 4321);
	assert_int_equal(times, 1);
	let = times = 0;
	errno = 77;
	child = fork();
	if (child == 0)
		_exit(let == 4321 && times >= 1 && errno == 77 ? 0 : 1);
	assert_int_equal(times, 0); /* it has been let here */
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_is_let_unasked),
		cmocka_unit_test(each_process_lets_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
