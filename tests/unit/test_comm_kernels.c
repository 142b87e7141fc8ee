/* SPDX-License-Identifier: BSD-2-Clause */
/* Which kernels are communication: by name, as libraries call them today and did before; and by the NCCL call that launched them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/support/gst_text.h"
#include "trace/comm_kernels.h"
#include "trace/trace.h"

static const char *const communication[] = {
	"ncclAllReduceRingLLKernel_sum_f32",
	"ncclKernel_AllReduce_RING_LL_Sum_float",
	"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
	"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL",
	"ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)",
	"_Z40ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
	"_ZL21ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE",
	"ncclSymDevKernel_AllReduce_AGxLLMC_R_sum_bf16",
	"ncclSymkDevKernel_AllGather_LLMC",
	"mscclKernel_Sum_float_LL",
	"_ZN7mscclpp9allgather6kernelEPf",
	"nvshmemi_reduce_kernel",
	"_ZN4vllm26cross_device_reduce_1stageIfLi8EEEvPNS_8RankDataENS_11RankSignalsENS_6SignalEPT_ii",
	"void sglang::cross_device_reduce_2stage<__nv_bfloat16, 8>(sglang::RankData*)",
	"_ZN12tensorrt_llm7kernels22twoShotAllReduceKernelI6__halfLi8ELb0ELb0ELb1EEEvNS0_15AllReduceParamsE",
	"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(int)1, __half>(int)",
	"void c10d::symmetric_memory::(anonymous namespace)::barrier_kernel<8>(unsigned int**)",
	"_ZN4c10d16symmetric_memory12_GLOBAL__N_114barrier_kernelEPPj",
	"void (anonymous namespace)::multimem_all_reduce_kernel<float, 16>(float*)",
	"_ZN7deep_ep9intranode8dispatchILi8ELi768ELi8192EEEvP4int4",
	"userbuffers_fp16_sum_inplace_gpu_rr_rs",
};

/* Words like theirs, somebody else's kernels, and kernels that only mention them. */
static const char *const computing[] = {
	"",
	"my_nccl_like_reduce",
	"nccl_like_reduce",
	"nccl",
	"ncclassify",
	"AllReduceLoss",
	"all_reduce_loss_kernel",
	"_ZN5model14all_reduce_lossEPf",
	"void cutlass::device_kernel<ncclDevKernel_AllReduce>(int)",
	"_ZN7cutlass13device_kernelIN7mscclpp4CopyEEEvT_",
	"void reduce_kernel<512>(at::native::ReduceOp<c10d::symmetric_memory::Tensor>)",
	"_Z6gatherPN7deep_ep6BufferE",
	"onebit_nvshmem_reduce",
	"symmetric_memory",
	"deep_ep",
	"_ZN11symmetric_v5applyEv",
	"twoShotAllReduceKernelTimes",
	"reduce_1stage",
	"_Z",
	"_ZN",
	"_Z99ncclDevKernel_short",
	"_Z99999999999999999999999ncclDevKernel_AllReduce",
	"<ncclDevKernel_AllReduce",
	"(ncclDevKernel_AllReduce)",
};

static void test_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(communication) / sizeof(*communication); i++)
		if (!comm_kernel(communication[i]))
			fail_msg("%s is communication", communication[i]);
	for (size_t i = 0; i < sizeof(computing) / sizeof(*computing); i++)
		if (comm_kernel(computing[i]))
			fail_msg("%s is none", computing[i]);
}

/* Whatever a file says. */
static void test_every_beginning_is_survived(void **state)
{
	char name[128];

	(void)state;
	for (size_t i = 0; i < sizeof(communication) / sizeof(*communication); i++)
		for (size_t n = 0; n <= strlen(communication[i]); n++) {
			memcpy(name, communication[i], n);
			name[n] = 0;
			comm_kernel(name);
		}
}

static void test_launches_inside_a_call(void **state)
{
	struct gst_text text;
	struct trace *t;
	struct error e;
	char line[256];
	static const bool by_nccl[] = { false, true, false, false, true, false, false, true, false };

	(void)state;
	assert_true(gst_text_parse(&text,
				   "process 1\nthread 10\ndevice 0\nstream 1\n"
				   "comm 1 t=1us hash=1 rank=0 size=2\n"
				   "launch t=10us..11us stream=1 seq=1 kernel=a\n"
				   "nccl all-reduce t=12us..20us hook=ncclAllReduce comm=1\n"
				   "launch t=13us..14us stream=1 seq=2 kernel=a\n"
				   "launch t=19us..21us stream=1 seq=3 kernel=a\n" /* outlasts it: no call inside */
				   "nccl group-start t=30us..31us hook=ncclGroupStart group=1\n"
				   "launch t=32us..33us stream=1 seq=4 kernel=a\n" /* between group start and end */
				   "nccl group-end t=34us..40us hook=ncclGroupEnd opened=30us\n"
				   "launch t=35us..40us stream=1 seq=5 kernel=a\n"
				   "nccl init t=50us..60us hook=ncclCommInitRank comm=1\n"
				   "launch t=51us..52us stream=1 seq=6 kernel=a\n" /* makes ready, moves nothing */
				   "nccl all-reduce t=70us..90us hook=ncclAllReduce comm=1\n"
				   "thread 11\n"
				   "launch t=71us..72us stream=1 seq=7 kernel=a\n" /* another thread's */
				   "nccl send t=73us..80us hook=ncclSend comm=1\n"
				   "launch t=74us..75us stream=1 seq=8 kernel=a\n"
				   "launch t=81us..82us stream=1 seq=9 kernel=a\n",
				   line));
	assert_int_equal(trace_open_mem(&t, text.files[0].image.bytes, text.files[0].image.len, "x.gst", &e), ERR_NONE);
	assert_int_equal(t->n_calls, 9);
	for (size_t i = 0; i < t->n_calls; i++)
		if ((t->calls[i].detail == LAUNCH_BY_NCCL) != by_nccl[i])
			fail_msg("launch %zu", i + 1);
	trace_free(t);
	gst_text_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_every_beginning_is_survived),
		cmocka_unit_test(test_launches_inside_a_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
