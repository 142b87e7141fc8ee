/* SPDX-License-Identifier: BSD-2-Clause */
/* Which frames are the user's own: what a report names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "run/stacks_own.h"

static bool python(const char *file)
{
	const struct frame f = { .function = "f", .file = file, .python = true };

	return frame_is_own(&f);
}

static bool native(const char *object, uint32_t flags, const char *file)
{
	const struct object_file o = { .flags = flags, .file = { .path = object } };
	const struct frame f = { .function = "f", .file = file, .object = &o };

	return frame_is_own(&f);
}

static void test_python(void **state)
{
	(void)state;
	assert_true(python("/srv/me/train.py"));
	assert_true(python("train.py"));
	assert_true(python("/srv/me/lib/python3-experiments/train.py"));
	assert_true(python("<string>"));
	assert_true(python("<stdin>"));
	assert_true(python("<ipython-input-3-1a2b>"));
	assert_false(python("/srv/me/venv/lib/python3.11/site-packages/torch/_tensor.py"));
	assert_false(python("/usr/lib/python3/dist-packages/numpy/core.py"));
	assert_false(python("/usr/local/lib/python3.12/threading.py"));
	assert_false(python("<frozen importlib._bootstrap>"));
	assert_false(python("<eval_with_key>.7"));
	assert_false(python(""));
	assert_false(python(NULL));
}

static void test_native(void **state)
{
	(void)state;
	assert_true(native("/srv/me/train", GST_OBJECT_PROGRAM, NULL));
	assert_true(native("/usr/bin/train", GST_OBJECT_PROGRAM, "/src/train.c"));
	assert_true(native("/srv/me/libloader.so", 0, NULL));
	assert_true(native("/srv/me/libmine.so.1", 0, NULL));
	assert_false(native("/usr/bin/python3.11", GST_OBJECT_PROGRAM, NULL));
	assert_false(native("/usr/lib/x86_64-linux-gnu/libc.so.6", 0, "./misc/usleep.c"));
	assert_false(native("/opt/cuda/lib64/libcublas.so.13", 0, NULL));
	assert_false(native("/srv/me/build/libgpushim.so", 0, NULL));
	assert_false(native("/srv/me/venv/lib/python3.11/site-packages/torch/lib/libanything.so", 0, NULL));
	assert_false(native("/srv/me/sim/libcuda.so.1", 0, NULL));
	assert_false(native("[vdso]", GST_OBJECT_VDSO, NULL));
	assert_false(native("/srv/me/train", GST_OBJECT_PROGRAM, "/usr/include/c++/12/bits/stl_vector.h"));
}

static void test_code_of_no_object(void **state)
{
	const struct frame f = { .function = "" };

	(void)state;
	assert_false(frame_is_own(&f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_python),
		cmocka_unit_test(test_native),
		cmocka_unit_test(test_code_of_no_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
