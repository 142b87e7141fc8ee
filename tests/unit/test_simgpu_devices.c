/* SPDX-License-Identifier: BSD-2-Clause */
/* Several devices in one process: each has its own engines, kernels, memory, clock and UUID. */
#include "test_simgpu.h"

static struct truth truth;

enum { DEVICES = 4, BYTES = 32 << 10 };

static CUcontext contexts[DEVICES];

static void start_all(void)
{
	OK(cuInit(0));
	for (int i = 0; i < DEVICES; i++) {
		OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
		OK(cuCtxSetCurrent(contexts[i]));
	}
}

/* Two copies a device from pinned memory: they need the engine one after the other, but not that of another device. */
static void copies_everywhere(void)
{
	CUevent gate;

	start_all();
	gate = gate_event();
	for (int i = 0; i < DEVICES; i++) {
		CUdeviceptr to;
		void *from;

		OK(cuCtxSetCurrent(contexts[i]));
		to = device_memory(BYTES);
		from = pinned_memory(BYTES);
		OK(cuMemcpyHtoDAsync(to, from, BYTES, stream_behind(gate)));
		OK(cuMemcpyHtoDAsync(to, from, BYTES, stream_behind(gate)));
	}
	gate_open();
	for (int i = 0; i < DEVICES; i++) {
		OK(cuCtxSetCurrent(contexts[i]));
		OK(cuCtxSynchronize());
	}
}

static void each_device_has_its_own_copy_engine(void **state)
{
	long long first_end_ns[DEVICES] = { 0 };

	(void)state;
	setenv("SIMGPU_DEVICES", "4", 1);
	setenv("SIMGPU_H2D_GBPS", "0.001", 1); /* 32.768 ms a copy */
	run_in_child(copies_everywhere, &truth);
	assert_int_equal(truth.count, 1 + 2 * DEVICES);
	assert_string_equal(truth.ops[0].op, "hostfn"); /* the gate */
	for (unsigned i = 1; i < truth.count; i++) {
		const struct truth_op *op = &truth.ops[i];

		assert_in_range(op->device, 0, DEVICES - 1);
		if (first_end_ns[op->device])
			assert_int_equal(op->start_ns, first_end_ns[op->device]);
		else
			first_end_ns[op->device] = op->end_ns;
	}
	/* The first four ran side by side. */
	for (int i = 0; i < DEVICES; i++)
		assert_true(truth.ops[1 + i].start_ns < first_end_ns[0] &&
			    truth.ops[1 + i].device != truth.ops[1 + (i + 1) % DEVICES].device);
}

static void time_a_kernel_on_each(void)
{
	float ms[DEVICES];

	start_all();
	for (int i = 0; i < DEVICES; i++) {
		CUevent from, to;

		OK(cuCtxSetCurrent(contexts[i]));
		OK(cuModuleLoadData(&module, "any image"));
		OK(cuEventCreate(&from, 0));
		OK(cuEventCreate(&to, 0));
		launch("before__20000us", NULL); /* all the rest is queued behind it */
		OK(cuEventRecord(from, NULL));
		launch("k__200000us", NULL);
		OK(cuEventRecord(to, NULL));
		OK(cuEventSynchronize(to));
		OK(cuEventElapsedTime(&ms[i], from, to));
	}
	/* 200 ms on clocks 100, 97, 94, 91 ppm fast: 200.0200, 200.0194, 200.0188, 200.0182; the steps are 0.0005, and the two
	 * ends of a measurement fall between steps. */
	for (int i = 0; i < DEVICES; i++) {
		double expected = 200.0 * (1 + (100 - 3 * i) * 1e-6);

		if (ms[i] < expected - 0.00052 || ms[i] > expected + 0.00052)
			fprintf(stderr, "device %d: %.5f ms, not %.5f\n", i, (double)ms[i], expected);
		EXPECT(1, ms[i] >= expected - 0.00052 && ms[i] <= expected + 0.00052);
	}
	EXPECT(1, ms[0] - ms[3] > 0.0007f);
}

static void each_device_has_its_own_clock(void **state)
{
	(void)state;
	setenv("SIMGPU_DEVICES", "4", 1);
	setenv("SIMGPU_DRIFT_PPM", "100", 1);
	run_in_child(time_a_kernel_on_each, &truth);
	assert_int_equal(truth.count, 2 * DEVICES);
}

static void fill_one(void)
{
	size_t free_bytes, total;
	CUdeviceptr most;

	start_all();
	OK(cuCtxSetCurrent(contexts[1]));
	OK(cuMemAlloc(&most, 100 << 20));
	EXPECT(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&most, 50 << 20));
	OK(cuMemGetInfo(&free_bytes, &total));
	EXPECT(128ll << 20, total);
	EXPECT(28ll << 20, free_bytes);
	OK(cuCtxSetCurrent(contexts[2]));
	OK(cuMemGetInfo(&free_bytes, &total));
	EXPECT(128ll << 20, free_bytes);
	OK(cuMemAlloc(&most, 100 << 20));
}

static void each_device_has_its_own_memory(void **state)
{
	(void)state;
	setenv("SIMGPU_DEVICES", "4", 1);
	setenv("SIMGPU_MEM_BYTES", "128M", 1); /* an emulator keeps a note of each page */
	run_in_child(fill_one, NULL);
}

static const char *uuid_path;

static void write_uuids(void)
{
	FILE *file = fopen(uuid_path, "a");
	CUuuid uuid;

	OK(cuInit(0));
	for (int i = 0; i < DEVICES; i++) {
		OK(cuDeviceGetUuid(&uuid, i));
		fwrite(&uuid, sizeof(uuid), 1, file);
	}
	fclose(file);
}

static void uuids_differ_between_devices_but_not_between_processes(void **state)
{
	char path[] = "/tmp/simgpu-uuids-XXXXXX";
	CUuuid uuids[2][DEVICES];
	FILE *file;

	(void)state;
	close(mkstemp(path));
	uuid_path = path;
	for (int i = 0; i < 2; i++) {
		setenv("SIMGPU_DEVICES", "4", 1);
		run_in_child(write_uuids, NULL);
	}
	file = fopen(path, "r");
	assert_int_equal(fread(uuids, sizeof(uuids), 1, file), 1);
	fclose(file);
	unlink(path);
	assert_memory_equal(uuids[0], uuids[1], sizeof(uuids[0]));
	for (int i = 0; i < DEVICES; i++)
		for (int j = 0; j < i; j++)
			assert_memory_not_equal(&uuids[0][i], &uuids[0][j], sizeof(CUuuid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_device_has_its_own_copy_engine),
		cmocka_unit_test(each_device_has_its_own_clock),
		cmocka_unit_test(each_device_has_its_own_memory),
		cmocka_unit_test(uuids_differ_between_devices_but_not_between_processes),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
