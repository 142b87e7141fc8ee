/* SPDX-License-Identifier: BSD-2-Clause */
/* Who has Python's global lock: by an interpreter that a test has made, and by what only looks like it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "shim/stack_python.h"
#include "stack_emulated.h"

#define TID 4711
#define NEW_COND 32 /* of glibc from 2.41 on: where in a condition the words are that one waits at */
#define OLD_COND 40

static uint64_t runtime[64], version, type, interpreter[64], first[32], second[32];

static struct { /* struct _gil_runtime_state */
	uint64_t interval, holder;
	int32_t locked, zero;
	uint64_t switches;
	uint8_t condition[48];
	uint8_t behind[64];
} lock;

static uint64_t at(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static void set(uint64_t *in, uint32_t offset, uint64_t value)
{
	memcpy((uint8_t *)in + offset, &value, sizeof(value));
}

/* Two threads; the second one has it. */
static struct stack_python_layout make(uint32_t of)
{
	const struct stack_python_symbols symbols = { .runtime = at(runtime),
						      .code_type = at(&type),
						      .version = at(&version) };
	struct stack_python_layout l;

	version = (uint64_t)of << 16;
	assert_true(stack_python_layout(&l, &symbols));
	memset(first, 0, sizeof(first));
	memset(second, 0, sizeof(second));
	set(runtime, l.interpreters_head, at(interpreter));
	set(interpreter, l.threads_head, at(first));
	set(first, l.thread_next, at(second));
	set(second, l.thread_previous, at(first));
	set(first, l.thread_interpreter, at(interpreter));
	set(second, l.thread_interpreter, at(interpreter));
	set(first, l.thread_native_id, TID);
	set(second, l.thread_native_id, TID + 1);
	memset(&lock, 0, sizeof(lock));
	lock.interval = 5000;
	lock.holder = at(second);
	lock.locked = 1;
	lock.switches = 3;
	return l;
}

static void who_has_it(void **state)
{
	(void)state;
	for (uint32_t of = 0x030b; of <= 0x030c; of++) {
		struct stack_python_layout l = make(of);

		for (unsigned word = 0; word < 2; word++) {
			assert_int_equal(stack_python_holder(&l, at(lock.condition) + OLD_COND + 4 * word), TID + 1);
			assert_int_equal(stack_python_holder(&l, at(lock.condition) + NEW_COND + 4 * word), TID + 1);
		}
		lock.holder = at(first);
		assert_int_equal(stack_python_holder(&l, at(lock.condition) + OLD_COND), TID);
	}
}

static void who_has_not(void **state)
{
	struct stack_python_layout l = make(0x030b);

	(void)state;
	assert_int_equal(stack_python_holder(&l, at(lock.condition) + 16), 0); /* another word of it */
	assert_int_equal(stack_python_holder(&l, at(lock.condition)), 0);
	assert_int_equal(stack_python_holder(&l, at(lock.behind) + OLD_COND), 0);
	lock.locked = 0; /* the last one that had it */
	assert_int_equal(stack_python_holder(&l, at(lock.condition) + OLD_COND), 0);
	lock.locked = 1;
	set(first, l.thread_next, 0); /* its thread has gone */
	assert_int_equal(stack_python_holder(&l, at(lock.condition) + OLD_COND), 0);
	lock.holder = 0;
	assert_int_equal(stack_python_holder(&l, at(lock.condition) + OLD_COND), 0);
	lock.holder = 4096; /* no memory */
	assert_int_equal(stack_python_holder(&l, at(lock.condition) + OLD_COND), 0);
	for (uint64_t futex = 0; futex < 64; futex += 4)
		assert_int_equal(stack_python_holder(&l, futex), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_it),
		cmocka_unit_test(who_has_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
