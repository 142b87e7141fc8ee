/* SPDX-License-Identifier: BSD-2-Clause */
/* kineto_big FILE LAUNCHES: a trace as PyTorch's profiler writes it (Kineto of 2024), of an eager training loop that launches so many
 * kernels: for each an operator, the one inside it, the runtime's call, the kernel, and a flow from call to kernel. Says on standard output
 * how many events there are. The same for every call with the same LAUNCHES. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define BASE_NS 1700000000000000000ull
#define PID 2910249
#define LAUNCHES_OF_A_STEP 500
#define US 1000u

static const char *const operators[][2] = {
	{ "aten::linear", "aten::addmm" },
	{ "aten::layer_norm", "aten::native_layer_norm" },
	{ "aten::dropout", "aten::native_dropout" },
	{ "autograd::engine::evaluate_function: AddmmBackward0", "AddmmBackward0" },
	{ "Optimizer.step#AdamW.step", "aten::_fused_adamw_" },
};
static const char *const kernels[] = {
	"ampere_sgemm_128x64_tn",
	"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float, float const*, float const*, float const*, float*, float*, float*)",
	"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)",
	"void cutlass::Kernel<cutlass_80_tensorop_f16_s16816gemm_relu_f16_128x128_32x5_tn_align8>(cutlass_80_tensorop_f16_s16816gemm_relu_f16_128x128_32x5_tn_align8::Params)",
	"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)",
};
#define KINDS (sizeof(kernels) / sizeof(kernels[0]))

struct maker {
	FILE *to;
	uint64_t host, device; /* ns: the thread's time, when the device's work so far has ended */
	uint64_t events, random;
};

/* xorshift64 (Marsaglia), below n */
static uint64_t any(struct maker *m, uint64_t n)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return m->random % n;
}

static void begin_event(struct maker *m, const char *cat, const char *name, uint64_t pid, uint64_t tid, uint64_t begin,
			uint64_t end)
{
	fprintf(m->to,
		"%s\n  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %" PRIu64 ", \"tid\": %" PRIu64
		",\n    \"ts\": %" PRIu64 ".%03u, \"dur\": %" PRIu64 ".%03u,\n    \"args\": {\n      ",
		m->events++ ? "," : "", cat, name, pid, tid, begin / US, (unsigned)(begin % US), (end - begin) / US,
		(unsigned)((end - begin) % US));
}

static void end_event(struct maker *m)
{
	fputs("\n    }\n  }", m->to);
}

static void flow(struct maker *m, const char *phase, uint64_t id, uint64_t pid, uint64_t tid, uint64_t at)
{
	fprintf(m->to,
		",\n  {\n    \"ph\": \"%s\", \"id\": %" PRIu64 ", \"pid\": %" PRIu64 ", \"tid\": %" PRIu64
		", \"ts\": %" PRIu64 ".%03u,\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"%s\n  }",
		phase, id, pid, tid, at / US, (unsigned)(at % US), *phase == 'f' ? ", \"bp\": \"e\"" : "");
	m->events++;
}

static void add_operator(struct maker *m, const char *name, uint64_t id, uint64_t begin, uint64_t end)
{
	begin_event(m, "cpu_op", name, PID, PID, begin, end);
	fprintf(m->to,
		"\"External id\": %" PRIu64
		",\"Record function id\": 0, \"Concrete Inputs\": [\"\", \"\", \"\", \"1\", \"1\"], \"Input type\": [\"float\", \"float\", "
		"\"float\", \"Scalar\", \"Scalar\"], \"Input Strides\": [[1], [768, 1], [1, 768], [], []], \"Input Dims\": [[768], [512, 768], [768, 768], [], []], "
		"\"Ev Idx\": %" PRIu64,
		id, id);
	end_event(m);
}

static void launch(struct maker *m, uint64_t number)
{
	uint64_t opened = m->host, inner = opened + 2000 + any(m, 2000), begin = inner + 1500 + any(m, 3000);
	uint64_t end = begin + 3000 + any(m, 4000), correlation = 2 * number + 100, start, took = 1500 + any(m, 16000);
	size_t kind = number % 97 == 0 ? KINDS - 1 : any(m, KINDS - 1);
	unsigned stream = kind == KINDS - 1 ? 20 : 7;

	m->host = end + 2000;
	add_operator(m, operators[number % KINDS][0], correlation, opened, m->host);
	add_operator(m, operators[number % KINDS][1], correlation + 1, inner, m->host - 500);
	begin_event(m, "cuda_runtime", "cudaLaunchKernel", PID, PID, begin, end);
	fprintf(m->to, "\"External id\": %" PRIu64 ", \"cbid\": 211, \"correlation\": %" PRIu64, correlation + 1,
		correlation);
	end_event(m);
	flow(m, "s", correlation, PID, PID, begin);
	start = end + 800 > m->device ? end + 800 : m->device + 900;
	m->device = start + took;
	begin_event(m, "kernel", kernels[kind], 0, stream, start, m->device);
	fprintf(m->to,
		"\"External id\": %" PRIu64
		", \"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": %u, \"correlation\": %" PRIu64
		", \"registers per thread\": 122, \"shared memory\": 16384, \"blocks per SM\": 1.777778, \"warps per SM\": 14.222222, \"grid\": [%u, 6, 4], \"block\": "
		"[256, 1, 1], \"est. achieved occupancy %%\": 22",
		correlation + 1, stream, correlation, (unsigned)(number % 96 + 1));
	end_event(m);
	flow(m, "f", correlation, 0, stream, start);
}

static void step(struct maker *m, uint64_t first, uint64_t launches)
{
	uint64_t opened = m->host, loaded = opened + 200000 + any(m, 4000000), since;
	char name[40];

	begin_event(m, "user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", PID, PID,
		    opened, loaded);
	fprintf(m->to, "\"External id\": %" PRIu64 ", \"Ev Idx\": 0", first);
	end_event(m);
	m->host = loaded + 1000;
	for (uint64_t i = 0; i < launches; i++)
		launch(m, first + i);
	since = m->host;
	m->host = (m->device > since ? m->device : since) + 5000;
	begin_event(m, "cuda_runtime", "cudaDeviceSynchronize", PID, PID, since, m->host);
	fprintf(m->to, "\"cbid\": 165, \"correlation\": %" PRIu64, 2 * (first + launches) + 99);
	end_event(m);
	snprintf(name, sizeof(name), "ProfilerStep#%" PRIu64, first / LAUNCHES_OF_A_STEP);
	begin_event(m, "user_annotation", name, PID, PID, opened, m->host + 1000);
	fprintf(m->to, "\"External id\": %" PRIu64 ", \"Ev Idx\": 0", first);
	end_event(m);
	m->host += 20000;
}

static void write_trace(struct maker *m, uint64_t launches)
{
	fprintf(m->to,
		"{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\n      \"id\": 0, \"name\": \"NVIDIA A100-SXM4-40GB\", \"totalGlobalMem\": "
		"42297786368\n    }\n  ],\n  \"cupti_version\": 18,\n  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 1},\n"
		"  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": %llu,\n  \"traceEvents\": [",
		BASE_NS);
	for (uint64_t first = 1; first <= launches; first += LAUNCHES_OF_A_STEP)
		step(m, first, launches - first + 1 < LAUNCHES_OF_A_STEP ? launches - first + 1 : LAUNCHES_OF_A_STEP);
	fputs("\n  ],\n  \"traceName\": \"big.pt.trace.json\"\n}\n", m->to);
}

int main(int argc, char *argv[])
{
	char *end = "";
	uint64_t launches = argc == 3 ? strtoull(argv[2], &end, 10) : 0;
	struct maker m = { .host = 4458676522690655ull, .random = 88172645463325252ull };

	if (launches == 0 || *end) {
		fputs("usage: kineto_big FILE LAUNCHES\n", stderr);
		return 2;
	}
	m.to = fopen(argv[1], "w");
	if (!m.to) {
		perror(argv[1]);
		return 4;
	}
	write_trace(&m, launches);
	if (fclose(m.to)) {
		perror(argv[1]);
		return 4;
	}
	printf("%" PRIu64 "\n", m.events);
	return 0;
}
