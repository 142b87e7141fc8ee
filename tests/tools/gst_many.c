/* SPDX-License-Identifier: BSD-2-Clause */
/* gst_many GAPS DIRECTORY: the trace of a training loop whose device is idle exactly GAPS times: many short kernels, each waited for by
 * nothing; now and then the host waits for one; and a step begins with reading a file. The same for every call with the same GAPS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/gst_flow.h"

#define BEGIN_NS 1000000000ull
#define PID 100
#define STREAM 1
#define OPERATIONS 500 /* of a step */
#define BETWEEN_WAITS 25
#define BLOCKS 16 /* a step's, of memory */
#define MIB (1ull << 20)

enum hook { LAUNCH = 1, SYNC, ALLOC };
enum name { STEP = 1, FORWARD, BACKWARD, OPTIMIZER, TRAIN_TAR, FIRST_KERNEL };

static const char *const kernels[] = {
	"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_",
	"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_10MeanOpsIfffEEjfLi4EEEEEvT1_",
	"ampere_sgemm_128x64_tn",
	"ampere_sgemm_128x128_nn",
	"void cutlass::Kernel<cutlass_80_tensorop_f16_s16816gemm>(Params)",
	"_Z14softmax_kernelPfS_i",
	"_Z15layernorm_fusedPKfPfi",
	"flash_fwd_kernel",
	"flash_bwd_dq_dk_dv_loop_kernel",
	"_Z10adam_applyPfPKfS_S_ffffi",
};
#define KERNELS (sizeof(kernels) / sizeof(kernels[0]))

struct maker {
	struct gst_flow flow;
	uint64_t host;   /* the thread's time */
	uint64_t device; /* when its work so far has ended */
	uint32_t seq;
	uint32_t range;
	uint64_t random;
	uint64_t allocated;
};

/* xorshift64 (Marsaglia), below n */
static uint64_t any(struct maker *m, uint64_t n)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return m->random % n;
}

static void add_call(struct maker *m, enum hook hook, uint8_t family, uint64_t begin, uint64_t end, uint32_t name)
{
	const struct gst_call r = { .begin = begin,
				    .end = end,
				    .seq = m->seq,
				    .hook = (uint16_t)hook,
				    .family = family,
				    .flags = family == GST_FAMILY_LAUNCH ? GST_SUBMISSION : 0,
				    .stream = family == GST_FAMILY_ALLOC ? GST_NONE : STREAM,
				    .name = name };

	gst_flow_add(&m->flow, GST_CALL, &r, sizeof(r));
}

static void add_range(struct maker *m, uint32_t name, uint64_t begin, uint32_t number, uint16_t level)
{
	const struct gst_range r = { .begin = begin,
				     .end = m->host,
				     .range = ++m->range,
				     .tid = PID,
				     .name = name,
				     .number = number,
				     .level = level,
				     .kind = GST_RANGE_PUSHED,
				     .flags = name == STEP ? GST_RANGE_NUMBERED : 0 };

	gst_flow_add(&m->flow, GST_RANGE, &r, sizeof(r));
}

static void add_block(struct maker *m, uint8_t kind, uint64_t slot, uint64_t bytes)
{
	struct gst_block r = { .ticks = m->host,
			       .address = 0x7f0000000000 + slot * 64 * MIB,
			       .bytes = bytes,
			       .reserved = BLOCKS * 64 * MIB,
			       .kind = kind,
			       .device_type = 1 };

	m->allocated += kind == GST_BLOCK_TAKEN ? bytes : 0;
	m->allocated -= kind == GST_BLOCK_GIVEN ? bytes : 0;
	r.allocated = m->allocated;
	gst_flow_add(&m->flow, GST_BLOCK, &r, sizeof(r));
}

/* One kernel, which ends before the next is launched. */
static void launch(struct maker *m, size_t kernel)
{
	uint64_t begin = m->host, start = begin + 4000 + any(m, 500), end = start + 1000 + 400 * kernel + any(m, 300);
	struct gst_activity r = { .begin_ns = start,
				  .end_ns = end,
				  .stream = STREAM,
				  .name = FIRST_KERNEL + (uint32_t)kernel,
				  .kind = GST_ACTIVITY_KERNEL };

	r.seq = ++m->seq;
	add_call(m, LAUNCH, GST_FAMILY_LAUNCH, begin, begin + 1500 + any(m, 300), r.name);
	gst_flow_add(&m->flow, GST_ACTIVITY, &r, sizeof(r));
	m->device = end;
	m->host = begin + 9000 + any(m, 1000);
}

/* The host waits for what it has launched, and then does something of its own. */
static void wait(struct maker *m)
{
	uint64_t back = (m->device > m->host ? m->device : m->host) + 3000;

	add_call(m, SYNC, GST_FAMILY_SYNC_STREAM, m->host, back, 0);
	m->host = back + 20000 + any(m, 15000);
}

/* A batch from a file; every 40th takes ten times as long. */
static void read_batch(struct maker *m, uint64_t step)
{
	uint64_t end = m->host + (step % 40 == 7 ? 20000000 : 2000000) + any(m, 100000);

	for (m->host += 400000; m->host < end; m->host += 500000) {
		const struct gst_sample r = { .ticks = m->host,
					      .tid = PID,
					      .syscall = 17, /* pread64 */
					      .file = TRAIN_TAR,
					      .fd_kind = GST_FD_FILE,
					      .state = 'D' };

		gst_flow_add(&m->flow, GST_SAMPLE, &r, sizeof(r));
	}
	m->host = end;
}

/* Up to `left` kernels; how many. */
static uint64_t step(struct maker *m, uint64_t number, uint64_t left)
{
	uint64_t begin = m->host, phase, n = 0, bytes[BLOCKS];
	const uint64_t ends[] = { OPERATIONS * 4 / 10, OPERATIONS * 9 / 10, OPERATIONS };

	read_batch(m, number);
	for (uint64_t i = 0; i < BLOCKS; i++)
		add_block(m, GST_BLOCK_TAKEN, i, bytes[i] = (2 + any(m, 60)) * MIB);
	for (unsigned part = 0; part < 3; part++) {
		phase = m->host;
		for (; n < ends[part] && n < left; n++) {
			if (n % BETWEEN_WAITS == BETWEEN_WAITS - 1)
				wait(m);
			if (n == 3) {
				add_call(m, ALLOC, GST_FAMILY_ALLOC, m->host, m->host + 30000, 0);
				m->host += 31000;
			}
			launch(m, part == 2 ? KERNELS - 1 : (n * (part + 1) + part) % (KERNELS - 1));
		}
		add_range(m, FORWARD + part, phase, 0, 2);
	}
	for (uint64_t i = 0; i < BLOCKS; i++)
		add_block(m, GST_BLOCK_GIVEN, i, bytes[i]);
	wait(m);
	add_range(m, STEP, begin, (uint32_t)number, 1);
	return n;
}

static void define(struct maker *m)
{
	const struct gst_device device = { .uuid = { 1 }, .memory_bytes = 1ull << 34, .name = "device of gst_many" };
	const struct gst_stream stream = { .id = STREAM, .context = 7, .handle = 0x5000, .flags = 1 };
	const char *const hooks[] = { "cuLaunchKernel", "cuStreamSynchronize", "cuMemAlloc_v2" };
	const char *const ranges[] = { "step ", "forward", "backward", "optimizer" };

	gst_flow_add(&m->flow, GST_DEVICE, &device, sizeof(device));
	gst_flow_add(&m->flow, GST_STREAM, &stream, sizeof(stream));
	for (unsigned i = 0; i < 3; i++)
		gst_flow_name(&m->flow, GST_SPACE_HOOK, LAUNCH + i, hooks[i]);
	for (unsigned i = 0; i < 4; i++)
		gst_flow_name(&m->flow, GST_SPACE_NVTX, STEP + i, ranges[i]);
	gst_flow_name(&m->flow, GST_SPACE_FILE, TRAIN_TAR, "/data/train.tar");
	for (unsigned i = 0; i < KERNELS; i++)
		gst_flow_name(&m->flow, GST_SPACE_KERNEL, FIRST_KERNEL + i, kernels[i]);
}

int main(int argc, char **argv)
{
	struct maker m = { .host = BEGIN_NS + 1000000, .random = 88172645463325252ull };
	uint64_t gaps = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;
	char path[4096];

	if (gaps == 0) {
		fprintf(stderr, "usage: gst_many GAPS DIRECTORY\n");
		return 2;
	}
	mkdir(argv[2], 0700);
	snprintf(path, sizeof(path), "%s/host-%d.gst", argv[2], PID);
	if (!gst_flow_open(&m.flow, path, PID, "python train.py --many", BEGIN_NS)) {
		perror(path);
		return 4;
	}
	define(&m);
	for (uint64_t number = 0, left = gaps + 1; left; number++)
		left -= step(&m, number, left);
	if (!gst_flow_close(&m.flow, m.host + 1000000)) {
		fprintf(stderr, "gst_many: %s could not be written\n", path);
		return 4;
	}
	return 0;
}
