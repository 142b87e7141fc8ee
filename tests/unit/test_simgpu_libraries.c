/* SPDX-License-Identifier: BSD-2-Clause */
/* Libraries, kernels, modules, linking, and what can be asked of a function. */
#include "test_simgpu.h"

static struct truth truth;

static const char ptx[] = "//\n// made by hand\n//\n.version 8.0\n.target sm_90\n.address_size 64\n\n"
			  "\t/* .entry not_this_one(.param .u32 x) */\n"
			  ".visible .entry first__30us(\n"
			  "\t.param .u64 .ptr .global .align 16 first_param_0,\n"
			  "\t.param .u32 first_param_1, // .param .u64 neither\n"
			  "\t.param .align 8 .b8 first_param_2[20],\n"
			  "\t.param .f64 first_param_3\n)\n{\n\tret;\n}\n"
			  ".func helper(.param .b32 a) { ret; }\n"
			  ".visible .entry $second() .maxntid 256, 1, 1\n{\n\tret;\n}\n";

static const size_t offsets[] = { 0, 8, 16, 40 }, sizes[] = { 8, 4, 20, 8 };

APART static CUlibrary loaded(const void *image)
{
	CUlibrary library;

	OK(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
	return library;
}

APART static CUkernel kernel_of(CUlibrary library, const char *name)
{
	CUkernel kernel;

	OK(cuLibraryGetKernel(&kernel, library, name));
	return kernel;
}

static void kernels(void)
{
	CUcontext other;
	CUlibrary library, owner;
	CUkernel kernel, all[3] = { NULL };
	CUfunction f, g;
	CUmodule m, n;
	CUdeviceptr one, two;
	const char *name;
	size_t bytes, offset;
	unsigned count;

	/* Nothing of this needs a context. */
	OK(cuInit(0));
	library = loaded(ptx);
	kernel = kernel_of(library, "first__30us");
	EXPECT(1, kernel == kernel_of(library, "first__30us"));
	EXPECT(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel(&all[0], library, "missing_kernel"));
	OK(cuLibraryGetKernelCount(&count, library));
	EXPECT(2, count);
	OK(cuLibraryEnumerateKernels(all, 3, library));
	EXPECT(1, all[0] == kernel && all[2] == NULL);
	OK(cuKernelGetName(&name, all[1]));
	EXPECT(0, strcmp(name, "$second"));
	OK(cuKernelGetLibrary(&owner, kernel));
	EXPECT(1, owner == library);
	for (unsigned i = 0; i < 4; i++) {
		OK(cuKernelGetParamInfo(kernel, i, &offset, &bytes));
		EXPECT(offsets[i], offset);
		EXPECT(sizes[i], bytes);
	}
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuKernelGetParamInfo(kernel, 4, &offset, &bytes));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuKernelGetParamInfo(all[1], 0, &offset, NULL));
	EXPECT(CUDA_ERROR_NOT_FOUND, cuLibraryGetManaged(&one, NULL, library, "any"));
	EXPECT(CUDA_ERROR_NOT_FOUND, cuLibraryGetUnifiedFunction((void **)&one, library, "any"));
	EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuKernelGetFunction(&f, kernel));
	/* In two contexts: two modules, two functions, two globals. */
	start();
	OK(cuKernelGetFunction(&f, kernel));
	OK(cuLibraryGetModule(&m, library));
	OK(cuFuncGetModule(&n, f));
	EXPECT(1, m == n);
	OK(cuModuleGetFunction(&g, m, "first__30us"));
	EXPECT(1, f == g);
	OK(cuLibraryGetGlobal(&one, &bytes, library, "table"));
	EXPECT(4096, bytes);
	OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(m)); /* the library's */
	OK(cuCtxCreate(&other, NULL, 0, 0));
	OK(cuKernelGetFunction(&g, kernel));
	EXPECT(1, f != g);
	OK(cuLibraryGetGlobal(&two, NULL, library, "table"));
	EXPECT(1, one != two);
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	OK(cuCtxDestroy(other));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuFuncLoad(g));
	OK(cuFuncLoad(f));
	OK(cuCtxSynchronize());
	OK(cuLibraryUnload(library));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuLibraryUnload(library));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuKernelGetName(&name, kernel));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
}

static void kernels_run_in_whichever_context(void **state)
{
	(void)state;
	run_in_child(kernels, &truth);
	assert_int_equal(truth.count, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_string_equal(truth.ops[i].name, "\"first__30us\"");
		assert_int_equal(truth.ops[i].end_ns - truth.ops[i].start_ns, 30000);
	}
}

static void settings_of_kernels(void)
{
	CUlibrary library;
	CUkernel kernel;
	CUfunction f;
	int value;

	start();
	library = loaded("no text of PTX");
	kernel = kernel_of(library, "k");
	OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000, kernel, 0));
	OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0));
	EXPECT(100000, value);
	OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 1));
	EXPECT(49152, value);
	EXPECT(CUDA_ERROR_INVALID_DEVICE, cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 2));
	OK(cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuKernelSetCacheConfig(kernel, (CUfunc_cache)9, 0));
	OK(cuKernelGetFunction(&f, kernel));
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
	EXPECT(100000, value);
	OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 100000, NULL, NULL, NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 100001, NULL, NULL, NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE,
	       cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232449));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, 1));
}

static void kernels_keep_what_was_said_of_them(void **state)
{
	(void)state;
	setenv("SIMGPU_DEVICES", "2", 1);
	run_in_child(settings_of_kernels, NULL);
}

static void modules(void)
{
	CUmodule m;
	CUfunction functions[2], f;
	CUfunctionLoadingState loading;
	const char *name;
	size_t offset, bytes;
	unsigned count;
	char path[] = "/tmp/simgpu-test-XXXXXX", log[64] = "stale";
	CUjit_option options[] = { CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)(uintptr_t)sizeof(log) };
	int file = mkstemp(path);

	start();
	EXPECT(sizeof(ptx), write(file, ptx, sizeof(ptx)));
	close(file);
	OK(cuModuleLoad(&m, path));
	unlink(path);
	OK(cuModuleGetFunctionCount(&count, m));
	EXPECT(2, count);
	OK(cuModuleEnumerateFunctions(functions, 2, m));
	OK(cuFuncGetName(&name, functions[1]));
	EXPECT(0, strcmp(name, "$second"));
	OK(cuFuncGetParamInfo(functions[0], 2, &offset, &bytes));
	EXPECT(16, offset);
	EXPECT(20, bytes);
	OK(cuFuncIsLoaded(&loading, functions[0]));
	EXPECT(CU_FUNCTION_LOADING_STATE_LOADED, loading);
	OK(cuModuleGetFunction(&f, m, "a_name_it_does_not_have")); /* as everywhere here */
	OK(cuModuleUnload(m));
	OK(cuModuleLoadDataEx(&m, ptx, 2, options, values));
	EXPECT(0, log[0]);
	EXPECT(1, values[1] == NULL);
	options[0] = (CUjit_option)999;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuModuleLoadDataEx(&m, ptx, 2, options, values));
	EXPECT(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&m, path));
	OK(cuModuleGetFunctionCount(&count, module));
	EXPECT(0, count); /* of "any image" nothing is known */
}

static void modules_list_what_their_text_says(void **state)
{
	(void)state;
	run_in_child(modules, NULL);
}

static void linking(void)
{
	CUlinkState state;
	CUmodule m;
	unsigned count;
	size_t bytes;
	void *image;

	start();
	OK(cuLinkCreate(0, NULL, NULL, &state));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuLinkComplete(state, &image, &bytes));
	OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)ptx, sizeof(ptx), "one", 0, NULL, NULL));
	OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)".entry third(){}", 16, "two", 0, NULL, NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuLinkAddData(state, (CUjitInputType)99, (void *)ptx, 4, NULL, 0, NULL, NULL));
	EXPECT(CUDA_ERROR_FILE_NOT_FOUND, cuLinkAddFile(state, CU_JIT_INPUT_OBJECT, "/nonexistent.o", 0, NULL, NULL));
	OK(cuLinkComplete(state, &image, &bytes));
	EXPECT(sizeof(ptx) - 1 + 16, bytes);
	OK(cuModuleLoadData(&m, image));
	OK(cuModuleGetFunctionCount(&count, m));
	EXPECT(3, count);
	OK(cuLinkDestroy(state));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuLinkDestroy(state));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)ptx, 4, NULL, 0, NULL, NULL));
}

static void what_is_linked_is_a_module(void **state)
{
	(void)state;
	run_in_child(linking, NULL);
}

static size_t a_kibibyte_each_four(int threads)
{
	return (size_t)threads / 4 * 1024;
}

static void occupancy(void)
{
	CUlaunchConfig config = {
		.gridDimX = 8, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 256, .blockDimY = 1, .blockDimZ = 1
	};
	CUlaunchAttribute cluster = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
	CUfunction f;
	int blocks, grid, block;
	size_t shared;

	start();
	f = function("k");
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 256, 0));
	EXPECT(8, blocks);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 33, 0)); /* two warps */
	EXPECT(32, blocks);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 1024, 100 << 10));
	EXPECT(2, blocks);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 64, 100 << 10));
	EXPECT(2, blocks);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, f, 1025, 0, 0));
	EXPECT(0, blocks);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 0, 0));
	OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, NULL, 0, 0));
	EXPECT(1024, block);
	EXPECT(2 * 132, grid);
	OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, NULL, 0, 300));
	EXPECT(256, block); /* eight times 256 are all 2048 threads, seven times 288 only 2016 */
	EXPECT(8 * 132, grid);
	OK(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, f, a_kibibyte_each_four, 0, 0, 0));
	EXPECT(896, block); /* 224 KiB: one block; anything smaller fits no more threads */
	EXPECT(132, grid);
	OK(cuOccupancyAvailableDynamicSMemPerBlock(&shared, f, 2, 256));
	EXPECT(113 << 10, shared);
	OK(cuOccupancyAvailableDynamicSMemPerBlock(&shared, f, 1, 256));
	EXPECT(227 << 10, shared);
	OK(cuOccupancyMaxPotentialClusterSize(&block, f, &config));
	EXPECT(8, block);
	EXPECT(CUDA_ERROR_INVALID_CLUSTER_SIZE, cuOccupancyMaxActiveClusters(&blocks, f, &config));
	cluster.value.clusterDim.x = 2;
	cluster.value.clusterDim.y = 2;
	cluster.value.clusterDim.z = 1;
	config.attrs = &cluster;
	config.numAttrs = 1;
	OK(cuOccupancyMaxActiveClusters(&blocks, f, &config));
	EXPECT(8 * 132 / 4, blocks);
	EXPECT(CUDA_ERROR_INVALID_HANDLE,
	       cuOccupancyMaxPotentialBlockSize(&grid, &block, (CUfunction)&config, NULL, 0, 0));
}

static void occupancy_follows_threads_and_shared_memory(void **state)
{
	(void)state;
	run_in_child(occupancy, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_run_in_whichever_context),
		cmocka_unit_test(kernels_keep_what_was_said_of_them),
		cmocka_unit_test(modules_list_what_their_text_says),
		cmocka_unit_test(what_is_linked_is_a_module),
		cmocka_unit_test(occupancy_follows_threads_and_shared_memory),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
