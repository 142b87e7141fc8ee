/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose words advice speaks: by paths, and by most stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "advice/framework.h"

#define SITE "/venv/lib/python3.12/site-packages/"

static void test_paths(void **state)
{
	(void)state;
	assert_int_equal(framework_by_path(SITE "torch/_tensor.py"), FRAMEWORK_PYTORCH);
	assert_int_equal(framework_by_path("/usr/lib/python3/dist-packages/torch/nn/init.py"), FRAMEWORK_PYTORCH);
	assert_int_equal(framework_by_path("/opt/mine/libtorch_cuda.so"), FRAMEWORK_PYTORCH);
	assert_int_equal(framework_by_path("/opt/mine/libc10_cuda.so"), FRAMEWORK_PYTORCH);
	assert_int_equal(framework_by_path(SITE "jax/_src/pjit.py"), FRAMEWORK_JAX);
	assert_int_equal(framework_by_path(SITE "jaxlib/libjax_common.so"), FRAMEWORK_JAX);
	assert_int_equal(framework_by_path(SITE "jax_plugins/xla_cuda12/xla_cuda_plugin.so"), FRAMEWORK_JAX);
	assert_int_equal(framework_by_path(SITE "tensorflow/libtensorflow_cc.so.2"), FRAMEWORK_TENSORFLOW);
	assert_int_equal(framework_by_path(SITE "tinygrad/tensor.py"), FRAMEWORK_TINYGRAD);
	assert_int_equal(framework_by_path("/srv/me/tinygrad/tinygrad/tensor.py"), FRAMEWORK_TINYGRAD);
	assert_int_equal(framework_by_path("/srv/me/pytorch/torch/_tensor.py"), FRAMEWORK_PYTORCH);
}

/* A folder may be named for what is tried out in it. */
static void test_whose_it_is_not(void **state)
{
	(void)state;
	assert_int_equal(framework_by_path("/srv/me/torch/train.py"), FRAMEWORK_NONE);
	assert_int_equal(framework_by_path("/srv/me/jax/train.py"), FRAMEWORK_NONE);
	assert_int_equal(framework_by_path("/srv/me/tinygrad/train.py"), FRAMEWORK_NONE);
	assert_int_equal(framework_by_path("/srv/me/tensorflow/libmine.so"), FRAMEWORK_NONE);
	assert_int_equal(framework_by_path("/srv/me/libtorch-examples/mine.so"), FRAMEWORK_NONE);
	assert_int_equal(framework_by_path(SITE "jaxtyping/_decorator.py"), FRAMEWORK_NONE);
	assert_int_equal(framework_by_path(SITE "mine/torch/model.py"), FRAMEWORK_NONE);
	assert_int_equal(framework_by_path("/opt/libc1000.so"), FRAMEWORK_NONE);
	assert_int_equal(framework_by_path(""), FRAMEWORK_NONE);
}

static struct frame python(const char *file)
{
	return (struct frame){ .function = "f", .file = file, .python = true };
}

/* Batches by one, steps by another. */
static void test_most_stacks(void **state)
{
	struct object_file xla = { .file = { .path = SITE "jaxlib/xla_extension.so" } };
	struct frame native = { .function = "g", .object = &xla }, unknown = { .function = "" };
	struct frame loads[] = { python(SITE "torch/utils/data/dataloader.py"), python("/srv/me/train.py") };
	struct frame puts[] = { unknown, python(SITE "jax/_src/api.py"),
				python(SITE "torch/utils/data/dataloader.py") };
	struct frame steps[] = { native, python("/srv/me/torch/train.py") };
	struct frame own[] = { python("/srv/me/train.py") };
	struct stack all[] = { { .frames = loads, .n_frames = 2 }, { .frames = own, .n_frames = 1 },
			       { .frames = own, .n_frames = 1 },   { .frames = own, .n_frames = 1 },
			       { .frames = puts, .n_frames = 3 },  { .frames = steps, .n_frames = 2 } };
	struct stacks s = { .all = all, .n = 6 };

	(void)state;
	assert_int_equal(framework_by_stacks(&s), FRAMEWORK_JAX);
	s.n = 4;
	assert_int_equal(framework_by_stacks(&s), FRAMEWORK_PYTORCH);
	s.n = 0;
	assert_int_equal(framework_by_stacks(&s), FRAMEWORK_NONE);
	s.all = &all[1];
	s.n = 3;
	assert_int_equal(framework_by_stacks(&s), FRAMEWORK_NONE);
}

static void test_operators(void **state)
{
	const char *torch[] = { "", "train.py(12): step", "aten::add" },
		   *jax[] = { "", "jax/_src/pjit.py(12): _python_pjit_helper" },
		   *own[] = { "", "step", "torch_like/step", "my aten::add" };

	(void)state;
	assert_int_equal(framework_by_ops(&(struct host_ops){ .names = torch, .n_names = 3 }), FRAMEWORK_PYTORCH);
	assert_int_equal(framework_by_ops(&(struct host_ops){ .names = jax, .n_names = 2 }), FRAMEWORK_JAX);
	assert_int_equal(framework_by_ops(&(struct host_ops){ .names = own, .n_names = 4 }), FRAMEWORK_NONE);
	assert_int_equal(framework_by_ops(&(struct host_ops){ 0 }), FRAMEWORK_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_whose_it_is_not),
		cmocka_unit_test(test_most_stacks),
		cmocka_unit_test(test_operators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
