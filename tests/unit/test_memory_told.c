/* SPDX-License-Identifier: BSD-2-Clause */
/* Other tools' traces begin in the middle: what is held is what a framework says that it has in all, and what of it was taken before is named so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "memory/memory_worst.h"
#include "tests/unit/import_built.h"

#define GIB ((uint64_t)1 << 30)
#define UNSAID UINT64_MAX /* of a total */

static struct memory memory;
static struct run run;

/* A block of `bytes`, given back where they are less than none, and the totals behind it. */
static void block_of(uint32_t process, uint32_t device, int64_t time_ns, uint64_t address, int64_t bytes,
		     uint64_t allocated, uint64_t reserved)
{
	static uint64_t place;
	struct import_block m = { .place = ++place,
				  .time_ns = time_ns,
				  .address = address,
				  .bytes = (uint64_t)(bytes < 0 ? -bytes : bytes),
				  .allocated = allocated == UNSAID ? 0 : allocated,
				  .reserved = reserved == UNSAID ? 0 : reserved,
				  .process = process,
				  .tid = 1,
				  .device = device,
				  .freed = bytes < 0,
				  .has_allocated = allocated != UNSAID,
				  .has_reserved = reserved != UNSAID };

	import_block(build, &m);
}

static void block(int64_t time_ns, uint64_t address, int64_t bytes, uint64_t allocated, uint64_t reserved)
{
	block_of(0, 0, time_ns, address, bytes, allocated, reserved);
}

/* Processes, each of which does something at 100 already. */
static void begin(unsigned processes)
{
	build = import_build_new("t.json", "kineto");
	assert_non_null(build);
	for (unsigned i = 0; i < processes; i++) {
		struct import_call c = { .begin_ns = 100,
					 .end_ns = 110,
					 .process = import_process(build, 100 + i),
					 .tid = 1,
					 .name = import_name(build, T("cudaLaunchKernel")),
					 .stream = IMPORT_NO_STREAM,
					 .device = IMPORT_NO_DEVICE };

		import_call(build, &c);
	}
}

static void built(void)
{
	struct error e;

	assert_int_equal(import_build_finish(&traces, &n_traces, build, NULL, &e), ERR_NONE);
	run = (struct run){ .traces = traces, .n_traces = n_traces };
	assert_int_equal(memory_build(&memory, &run, &e), ERR_NONE);
}

static int gone(void **state)
{
	memory_free(&memory);
	return forget(state);
}

static void use_is(struct memory_use use, uint64_t allocated, uint64_t reserved)
{
	assert_int_equal(use.allocated, allocated);
	assert_int_equal(use.reserved, reserved);
	assert_int_equal(use.largest_free, reserved - allocated); /* taken for one piece */
}

/* ---- the base --------------------------------------------------------------------------------------------------------------- */

static void tell_taken_before(void)
{
	begin(1);
	block(1000, 0x10000000000, (int64_t)GIB / 2, 8 * GIB + GIB / 2, 14 * GIB);
	block(2000, 0x20000000000, 4 * (int64_t)GIB, 12 * GIB + GIB / 2, 14 * GIB);
	block(3000, 0x20000000000, -4 * (int64_t)GIB, 8 * GIB + GIB / 2, 14 * GIB);
	block(4000, 0x10000000000, -(int64_t)GIB / 2, 8 * GIB, 14 * GIB);
}

static void test_taken_before(void **state)
{
	const struct memory_device *d;

	(void)state;
	tell_taken_before();
	built();
	assert_int_equal(memory.n_devices, 1);
	d = &memory.devices[0];
	use_is(memory_at(d, 99), 0, 0); /* before the trace nothing is known */
	use_is(memory_at(d, 100), 8 * GIB, 14 * GIB);
	use_is(memory_at(d, 1000), 8 * GIB + GIB / 2, 14 * GIB);
	use_is(memory_at(d, 2500), 12 * GIB + GIB / 2, 14 * GIB);
	use_is(memory_at(d, 3000), 8 * GIB + GIB / 2, 14 * GIB);
	use_is(d->now, 8 * GIB, 14 * GIB);
	assert_int_equal(d->n_points, 5);
	assert_int_equal(d->peak_allocated, 12 * GIB + GIB / 2);
	assert_int_equal(d->peak_allocated_ns, 2000);
	assert_int_equal(d->peak_reserved, 14 * GIB);
	assert_int_equal(d->worst.time_ns, 2000); /* when least was free */
	assert_true(memory_fragmentation(&d->worst.use) == 0);
	assert_true(d->framework.told);
	assert_int_equal(d->framework.before, 8 * GIB);
	assert_int_equal(d->framework.before_left, 8 * GIB);
	assert_int_equal(d->framework.allocated, 8 * GIB);
	assert_int_equal(d->framework.strays, 2);
}

/* Drawn are the blocks on record; the rest has no place. */
static void test_the_base_is_not_placed(void **state)
{
	struct memory_worst *worst;
	struct error e;

	(void)state;
	tell_taken_before();
	built();
	assert_int_equal(memory_worst_build(&worst, &memory, &run, &e), ERR_NONE);
	assert_true(worst[0].found);
	assert_int_equal(worst[0].time_ns, 2000);
	use_is(worst[0].use, 12 * GIB + GIB / 2, 14 * GIB);
	assert_int_equal(worst[0].n, 1);
	assert_int_equal(worst[0].parts[0].n, 2);
	assert_int_equal(worst[0].parts[0].pieces[1].bytes, 4 * GIB);
	assert_int_equal(worst[0].unplaced, 14 * GIB - 4 * GIB - GIB / 2);
	memory_worst_free(worst, memory.n_devices);
}

/* What was taken before and is given back now makes it less; until then it was there. */
static void test_the_base_is_given_back(void **state)
{
	const struct memory_device *d;

	(void)state;
	begin(1);
	block(1000, 4096, -300, 700, 2000);
	block(2000, 8192, 50, 750, 2000);
	block(3000, 9216, -600, 150, 1500);
	built();
	d = &memory.devices[0];
	use_is(memory_at(d, 999), 1000, 2000);
	use_is(memory_at(d, 1000), 700, 2000);
	use_is(d->now, 150, 1500);
	assert_int_equal(d->peak_allocated, 1000);
	assert_int_equal(d->peak_allocated_ns, 100);
	assert_int_equal(d->peak_reserved, 2000);
	assert_int_equal(d->framework.before, 1000);
	assert_int_equal(d->framework.before_left, 100);
}

/* The first block of a program: nothing was there, and nothing reserved. */
static void test_nothing_before(void **state)
{
	const struct memory_device *d;

	(void)state;
	begin(1);
	block(1000, 4096, 512, 512, 2048);
	block(2000, 8192, 512, 1024, 4096);
	built();
	d = &memory.devices[0];
	use_is(memory_at(d, 999), 0, 0);
	assert_int_equal(d->n_points, 2);
	use_is(d->now, 1024, 4096);
	assert_true(d->framework.told);
	assert_int_equal(d->framework.before, 0);
	assert_int_equal(d->framework.before_left, 0);
}

/* ---- whose totals ------------------------------------------------------------------------------------------------------------- */

/* Two processes; each has a device 0, and the first one another. uuid: of both devices 0; 0 none. */
static void tell_processes(uint8_t uuid)
{
	begin(2);
	for (uint32_t i = 0; i < 2; i++) {
		struct import_device device = { .process = i, .uuid = { uuid } };

		import_device(build, &device);
	}
	block_of(0, 0, 1000, 4096, 10, 110, 200);
	block_of(0, 1, 1000, 4096, 20, 1020, 3000);
	block_of(1, 0, 2000, 4096, 30, 530, 600);
	block_of(0, 0, 3000, 4096, -10, 100, 200);
	block_of(1, 0, 4000, 4096, -30, 500, 550);
}

static void test_devices_and_processes(void **state)
{
	const struct memory_device *d;

	(void)state;
	tell_processes(1);
	built();
	assert_int_equal(memory.n_devices, 2);
	assert_int_equal(memory_device_index(&memory, traces[0], 0), memory_device_index(&memory, traces[1], 0));
	d = &memory.devices[memory_device_index(&memory, traces[0], 0)];
	use_is(memory_at(d, 100), 600, 800); /* of both */
	assert_int_equal(memory_at(d, 2000).allocated, 640);
	assert_int_equal(d->peak_allocated, 640);
	assert_int_equal(d->peak_reserved, 800);
	assert_int_equal(d->now.allocated, 600);
	assert_int_equal(d->now.reserved, 750);
	assert_int_equal(d->framework.before, 600);
	assert_int_equal(d->framework.before_left, 600);
	d = &memory.devices[memory_device_index(&memory, traces[0], 1)];
	assert_int_equal(d->peak_allocated, 1020);
	assert_int_equal(d->framework.before, 1000);
}

/* Nobody says that the two devices 0 are one. */
static void test_devices_of_one_number(void **state)
{
	const struct memory_device *d;
	struct memory_worst *worst;
	struct error e;

	(void)state;
	tell_processes(0);
	built();
	assert_int_equal(memory.n_devices, 3);
	d = &memory.devices[memory_device_index(&memory, traces[0], 0)];
	assert_ptr_equal(d, memory_of(&memory, traces[0], &d->device));
	assert_int_equal(d->peak_allocated, 110);
	assert_int_equal(d->peak_reserved, 200);
	assert_int_equal(d->framework.before, 100);
	d = &memory.devices[memory_device_index(&memory, traces[1], 0)];
	assert_ptr_equal(d, memory_of(&memory, traces[1], &d->device));
	assert_int_equal(d->peak_allocated, 530);
	assert_int_equal(d->peak_reserved, 600);
	assert_int_equal(d->framework.before, 500);
	assert_int_equal(memory_worst_build(&worst, &memory, &run, &e), ERR_NONE);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(worst[i].use.reserved, memory.devices[i].peak_reserved);
		assert_int_equal(worst[i].n, 1);
	}
	memory_worst_free(worst, memory.n_devices);
}

/* Of one instant the file's order counts, or totals of before would be the last: with one process, and with two. */
static void test_one_instant(void **state)
{
	for (unsigned processes = 1; processes <= 2; processes++) {
		begin(processes);
		block(1000, 4096, 30, 130, 200);
		block(1000, 4096, -30, 100, 200);
		built();
		assert_int_equal(memory.devices[0].peak_allocated, 130);
		assert_int_equal(memory.devices[0].now.allocated, 100);
		assert_int_equal(memory.devices[0].framework.before_left, 100);
		gone(state);
	}
}

/* ---- who says nothing --------------------------------------------------------------------------------------------------------- */

/* Totals that are not there, and those that are 0 in every block: who says so does not count. */
static void test_without_totals(void **state)
{
	static const uint64_t totals[] = { UNSAID, 0 };

	for (int i = 0; i < 2; i++) {
		const struct memory_device *d;

		begin(1);
		block(1000, 4096, 30, totals[i], totals[i]);
		block(2000, 8192, 50, totals[i], totals[i]);
		block(3000, 4096, -30, totals[i], totals[i]);
		block(4000, 500000, -400, totals[i], totals[i]);
		built();
		d = &memory.devices[0];
		assert_false(d->framework.told);
		assert_int_equal(d->n_points, 3);
		assert_int_equal(d->peak_allocated, 80);
		use_is(d->now, 50, 50);
		assert_int_equal(d->framework.before, 0);
		gone(state);
	}
}

/* … on one device, beside one whose allocator does. */
static void test_one_device_does_not_count(void **state)
{
	const struct memory_device *d;

	(void)state;
	begin(1);
	block_of(0, 0, 1000, 4096, 30, 530, 600);
	block_of(0, 1, 1000, 4096, 30, 0, 0);
	block_of(0, 1, 2000, 8192, 50, 0, 0);
	built();
	d = &memory.devices[memory_device_index(&memory, traces[0], 0)];
	assert_true(d->framework.told);
	use_is(d->now, 530, 600);
	d = &memory.devices[memory_device_index(&memory, traces[0], 1)];
	assert_false(d->framework.told);
	use_is(d->now, 80, 80);
}

/* 0 is a total like any other: of the first block, and of the last. */
static void test_nothing_is_left(void **state)
{
	const struct memory_device *d;

	(void)state;
	begin(1);
	block(1000, 500000, -400, 0, 0);
	block(2000, 4096, 30, 30, 100);
	block(3000, 4096, -30, 0, 100);
	block(4000, 8192, 50, 50, 0); /* reserved is at least that */
	block(5000, 8192, -50, 0, 0);
	built();
	d = &memory.devices[0];
	use_is(memory_at(d, 999), 400, 400);
	use_is(memory_at(d, 1000), 0, 0);
	use_is(memory_at(d, 3000), 0, 100);
	use_is(memory_at(d, 4000), 50, 50);
	use_is(d->now, 0, 0);
	assert_int_equal(d->peak_reserved, 400);
	assert_int_equal(d->framework.before, 400);
	assert_int_equal(d->framework.reserved, 0);
}

/* A recording of our own has the driver's word: a framework's totals change nothing. */
static void test_our_own(void **state)
{
	const struct memory_device *d;
	struct imported *imported;
	struct error e;

	(void)state;
	tell_taken_before();
	assert_int_equal(import_build_finish(&traces, &n_traces, build, NULL, &e), ERR_NONE);
	imported = traces[0]->imported;
	traces[0]->imported = NULL;
	run = (struct run){ .traces = traces, .n_traces = n_traces };
	assert_int_equal(memory_build(&memory, &run, &e), ERR_NONE);
	traces[0]->imported = imported;
	d = &memory.devices[0];
	assert_false(d->framework.told);
	assert_int_equal(d->peak_allocated, 4 * GIB + GIB / 2);
	assert_int_equal(d->peak_reserved, 4 * GIB + GIB / 2);
	use_is(d->now, 0, 0);
}

/* Totals from the second block on, none in between, and one of the two alone. */
static void test_some_totals(void **state)
{
	const struct memory_device *d;

	(void)state;
	begin(1);
	block(1000, 4096, 30, UNSAID, UNSAID);
	block(2000, 8192, 50, 580, 1000);
	block(3000, 16384, 100, UNSAID, UNSAID);
	block(4000, 8192, -50, UNSAID, UNSAID);
	block(5000, 32768, 7, 637, UNSAID);
	block(6000, 32768, -7, UNSAID, 900);
	built();
	d = &memory.devices[0];
	use_is(memory_at(d, 999), 0, 0);
	use_is(memory_at(d, 1000), 30, 30);
	use_is(memory_at(d, 2000), 580, 1000);
	use_is(memory_at(d, 3000), 680, 1000);
	use_is(memory_at(d, 4000), 630, 1000);
	use_is(memory_at(d, 5000), 637, 1000);
	use_is(d->now, 630, 900);
	assert_int_equal(d->framework.before, 500); /* 30 of the 530 are on record */
	assert_int_equal(d->framework.before_left, 500);
	assert_int_equal(d->framework.allocated, 637); /* the last it said */
	assert_int_equal(d->framework.reserved, 900);
}

/* ---- damage ------------------------------------------------------------------------------------------------------------------- */

static void test_beyond_any(void **state)
{
	const struct memory_device *d;

	(void)state;
	begin(1);
	block(1000, 4096, -INT64_MAX, UINT64_MAX - 1, UINT64_MAX - 1);
	block(2000, 4096, INT64_MAX, UNSAID, UNSAID);
	block(3000, 8192, 100, 500, 20); /* less reserved than allocated */
	block(4000, 8192, -INT64_MAX, UNSAID, UNSAID);
	built();
	d = &memory.devices[0];
	assert_int_equal(d->peak_allocated, MEMORY_BEYOND_ANY);
	assert_int_equal(d->peak_reserved, MEMORY_BEYOND_ANY);
	use_is(memory_at(d, 2000), MEMORY_BEYOND_ANY, MEMORY_BEYOND_ANY);
	use_is(memory_at(d, 3000), 500, 500);
	use_is(d->now, 0, 20);
}

/* Any figures at all, of many processes. */
static void test_random(void **state)
{
	static const uint64_t figures[] = { 0,         1,         512, GIB, MEMORY_BEYOND_ANY, MEMORY_BEYOND_ANY + 1,
					    INT64_MAX, UINT64_MAX };
	enum { N = sizeof(figures) / sizeof(figures[0]), PROCESSES = 40 };

	srand(7);
	for (int round = 0; round < 20; round++) {
		struct memory_worst *worst;
		struct error e;

		begin(PROCESSES);
		for (int i = 0; i < 1000; i++) {
			int64_t bytes = (int64_t)(figures[rand() % N] & INT64_MAX);

			block_of((uint32_t)(rand() % PROCESSES), (uint32_t)(rand() % 3), 1000 + rand() % 300,
				 figures[rand() % N], rand() % 2 ? bytes : -bytes, figures[rand() % N],
				 figures[rand() % N]);
		}
		built();
		for (size_t i = 0; i < memory.n_devices; i++)
			for (size_t k = 0; k < memory.devices[i].n_points; k++) {
				struct memory_use use = memory.devices[i].points[k].use;

				assert_true(use.allocated <= use.reserved);
				assert_true(use.reserved <= PROCESSES * MEMORY_BEYOND_ANY);
				assert_true(use.largest_free <= use.reserved - use.allocated);
			}
		assert_int_equal(memory_worst_build(&worst, &memory, &run, &e), ERR_NONE);
		for (size_t i = 0; i < memory.n_devices; i++)
			assert_true(worst[i].found);
		memory_worst_free(worst, memory.n_devices);
		gone(state);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_taken_before, gone),
		cmocka_unit_test_teardown(test_the_base_is_not_placed, gone),
		cmocka_unit_test_teardown(test_the_base_is_given_back, gone),
		cmocka_unit_test_teardown(test_nothing_before, gone),
		cmocka_unit_test_teardown(test_devices_and_processes, gone),
		cmocka_unit_test_teardown(test_devices_of_one_number, gone),
		cmocka_unit_test_teardown(test_one_instant, gone),
		cmocka_unit_test_teardown(test_without_totals, gone),
		cmocka_unit_test_teardown(test_one_device_does_not_count, gone),
		cmocka_unit_test_teardown(test_nothing_is_left, gone),
		cmocka_unit_test_teardown(test_our_own, gone),
		cmocka_unit_test_teardown(test_some_totals, gone),
		cmocka_unit_test_teardown(test_beyond_any, gone),
		cmocka_unit_test_teardown(test_random, gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
