/* SPDX-License-Identifier: BSD-2-Clause */
/* What programs call their iterations, and the kernels that change parameters; and what only sounds like it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "steps/step_words.h"

static void optimizers(void **state)
{
	static const char *const yes[] = {
		"multi_tensor_apply_kernel<FusedAdamMathFunctor<float>>",
		"void at::native::FusedSgdMathFunctor",
		"void fused_optimizer_step<float>(float*)",
		"OptimizerKernel",
		"optim::apply",
		"my_optim_update",
		"FusedLambKernel",
		"RmsProp",
	};
	static const char *const no[] = {
		"cunn_LayerNormOptimizedForward",
		"optimizedLayerNorm<float>",
		"OPTIMIZED_GEMM",
		"optimal_tile_gemm",
		"lambda_kernel",
		"gemm",
		"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (!name_is_optimizer(yes[i]))
			fail_msg("%s", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (name_is_optimizer(no[i]))
			fail_msg("%s", no[i]);
}

static void steps(void **state)
{
	(void)state;
	assert_true(name_is_step("Train Step 7", false));
	assert_true(name_is_step("ProfilerStep#12", false));
	assert_true(name_is_step("[pl][profile]run_training_batch", false));
	assert_true(name_is_step("batch 3", true));
	assert_false(name_is_step("batch 3", false)); /* a loader's */
	assert_false(name_is_step("stepping stones", true));
	assert_false(name_is_step("epoch", true));
	assert_true(name_is_outer("Epoch 3"));
	assert_false(name_is_outer("forward"));
	assert_true(domain_is_library("nccl"));
	assert_false(domain_is_library("mine"));
	assert_false(domain_is_library(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(optimizers),
		cmocka_unit_test(steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
