/* SPDX-License-Identifier: BSD-2-Clause */
/* What is written of the other threads where one waits in a futex: those that may be waited for, and no others. */
#include "shim_trace.h"

#include "shim/sample.c" /* looks are taken here, one at a time */
#include "standing.h"

static struct ring ring;
static struct thread_slot slots_waiter;

/* It may be over before the walk of the waiting thread's stack is. */
static bool ends_while_the_stack_is_walked;

void __wrap_stacks_look(struct ring *r, const struct stack_still *there, uint64_t since, uint64_t ticks);
void __wrap_stacks_look(struct ring *r, const struct stack_still *there, uint64_t since, uint64_t ticks)
{
	(void)r, (void)there, (void)since, (void)ticks;
	if (ends_while_the_stack_is_walked)
		end_all();
}

/* ---- looks --------------------------------------------------------------------------------------------------------------- */

static struct gst_sample found[16];
static unsigned n_found, n_strangers;
static uint32_t over; /* the thread that ended in the middle of it */

/* The waiter's silence begins now. */
static void new_silence(void)
{
	slots_waiter.last_end = clock_ticks();
}

/* A sanitizer has a thread of its own, which may compute. */
static bool is_of_the_test(uint32_t tid)
{
	for (const struct one *o = ones; o < ones + n_ones; o++)
		if (o->tid == tid)
			return true;
	return tid == over;
}

/* What one look writes of threads other than the one that waits. */
static unsigned look(void)
{
	uint32_t at = ring.at;
	unsigned own = 0;

	n_found = n_strangers = 0;
	sample(&ring, &slots_waiter, clock_ticks());
	assert_true(ring.at > at);
	while (at < ring.at) {
		const struct gst_sample *s = (const void *)(ring.segment + at);

		at += s->record.size;
		if (s->record.type != GST_SAMPLE)
			continue;
		own += s->tid == slots_waiter.tid;
		if (s->tid == slots_waiter.tid)
			continue;
		if (is_of_the_test(s->tid))
			found[n_found++] = *s;
		else
			n_strangers++;
	}
	assert_int_equal(own, 1);
	return n_found;
}

static bool begin_waiting(void)
{
	static bool never;
	struct one *waiter = start(AT_FUTEX, NULL);

	slots_waiter = (struct thread_slot){ .tid = waiter->tid };
	new_silence();
	never = never || !await(waiter);
	return !never;
}

static int begin(void **state)
{
	stop = 0;
	memset(&mutex, 0, sizeof(mutex));
	ends_while_the_stack_is_walked = false;
	sample_others_forget();
	if (set_up(state) != 0)
		return -1;
	ring_attach(&ring);
	own_thread_known(true); /* it is the test's thread that looks */
	return 0;
}

static int end(void **state)
{
	end_all();
	own_thread_known(false);
	ring_detach(&ring);
	rings_forget();
	names_forget();
	return tear_down(state);
}

/* ---- tests --------------------------------------------------------------------------------------------------------------- */

/* As the service threads of NCCL, of a store, of the driver: they stand in a poll for the whole run. */
static void a_poll_that_never_returns_feeds_nobody(void **state)
{
	struct one *o;

	(void)state;
	if (!begin_waiting())
		skip();
	o = start(AT_POLL, NULL);
	assert_true(await(o));
	for (int n = 0; n < 3; n++) {
		new_silence();
		for (int i = 0; i < 3; i++)
			assert_int_equal(look(), 0);
	}
}

static bool has_run(const struct one *o, const char *before)
{
	char now[64];

	task_file_read(now, sizeof(now), o->tid, "schedstat");
	return strcmp(now, before) != 0 && stands_there(o);
}

static void wake_once(struct one *o)
{
	char before[64];

	task_file_read(before, sizeof(before), o->tid, "schedstat");
	assert_int_equal(write(o->fds[1], "x", 1), 1);
	for (int i = 0; !has_run(o, before); i++) {
		assert_true(i < WAIT_TRIES);
		usleep(100);
	}
}

static bool is_counted(const struct one *o)
{
	char text[64];

	return task_file_read(text, sizeof(text), o->tid, "schedstat") && strncmp(text, "0 0 0", 5) != 0;
}

/* It has taken something since the silence before, so it may be what hands on: all through this one. */
static void a_poll_that_has_taken_something_is_a_feeder(void **state)
{
	struct one *o;

	(void)state;
	if (!begin_waiting())
		skip();
	o = start(AT_POLL, NULL);
	assert_true(await(o));
	if (!is_counted(o))
		skip();
	assert_int_equal(look(), 0);
	wake_once(o);
	new_silence();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(look(), 1);
		assert_int_equal(found[0].tid, o->tid);
		assert_int_equal(found[0].fd_kind, GST_FD_SOCKET);
		assert_int_not_equal(found[0].file, 0);
	}
	new_silence();
	assert_int_equal(look(), 0);
}

/* Once is what its own end would have done. It may run more often than it is woken, where others want its CPU. */
static void a_poll_for_a_time_must_run_more_often(void **state)
{
	struct one *o;
	int told = 1;

	(void)state;
	if (!begin_waiting())
		skip();
	o = start(AT_POLL_FOR_A_TIME, NULL);
	assert_true(await(o));
	if (!is_counted(o))
		skip();
	assert_int_equal(look(), 0);
	for (int i = 0; told && i < 20; i++) {
		wake_once(o);
		new_silence();
		told = (int)look();
	}
	assert_int_equal(told, 0);
	for (int i = 0; i < 3; i++)
		wake_once(o);
	assert_int_equal(look(), 1);
	assert_int_equal(found[0].tid, o->tid);
}

static void a_read_is_a_feeders(void **state)
{
	struct one *o;

	(void)state;
	if (!begin_waiting())
		skip();
	o = start(AT_READ, NULL);
	assert_true(await(o));
	assert_int_equal(look(), 1);
	assert_int_equal(found[0].tid, o->tid);
	assert_int_equal(found[0].syscall, SYS_read);
	assert_int_equal(found[0].fd_kind, GST_FD_SOCKET);
}

/* … nor have they names in the file. */
static void what_tells_nothing_is_not_written(void **state)
{
	uint32_t at;

	(void)state;
	if (!begin_waiting())
		skip();
	assert_true(await(start(AT_WRITE, NULL)));
	assert_true(await(start(AT_EPOLL, NULL)));
	assert_true(await(start(AT_SLEEP, NULL)));
	assert_true(await(start(AT_POLL, NULL)));
	assert_true(await(start(AT_FUTEX, NULL)));
	for (int i = 0; i < 3; i++) {
		at = ring.at;
		assert_int_equal(look(), 0);
		assert_int_equal(ring.at - at, (1 + n_strangers) * sizeof(struct gst_sample));
	}
}

/* It may hold the lock; in a driver call it waits for its device, and may spin for that. */
static void who_computes_outside_of_the_driver_may_hold_it(void **state)
{
	struct one *o;

	(void)state;
	if (!begin_waiting())
		skip();
	o = start(AT_COMPUTING, NULL);
	assert_true(await(o));
	assert_int_equal(look(), 1);
	assert_int_equal(found[0].tid, o->tid);
	assert_int_equal(found[0].syscall, ON_CPU);
	thread_slots[0].tid = o->tid;
	thread_slots_used = 1;
	assert_int_equal(look(), 1);
	thread_slots[0].in_call = 1;
	assert_int_equal(look(), 0);
	thread_slots[0] = (struct thread_slot){ .tid = 0 };
	thread_slots_used = 0;
	assert_int_equal(look(), 1);
}

static void the_threads_of_libraries_hold_nothing(void **state)
{
	(void)state;
	if (!begin_waiting())
		skip();
	assert_true(await(start(AT_COMPUTING, "NCCL Progress 0")));
	assert_true(await(start(AT_READ, "NCCL Service 0")));
	assert_true(await(start(AT_COMPUTING, "cuda-EvtHandlr")));
	for (int i = 0; i < 3; i++)
		assert_int_equal(look(), 0);
	assert_true(await(start(AT_READ, "NCCLish")));
	assert_int_equal(look(), 1);
}

/* They are looked at first: a stack may take as long as a hundred of these. */
static void the_others_are_of_the_same_time(void **state)
{
	struct one *o;
	uint32_t tid;

	(void)state;
	if (!begin_waiting())
		skip();
	o = start(AT_COMPUTING, NULL);
	assert_true(await(o));
	tid = over = o->tid;
	ends_while_the_stack_is_walked = true;
	assert_int_equal(look(), 1);
	assert_int_equal(found[0].tid, tid);
}

/* By what it says itself; though it computes nothing, and waits for nothing that others give. */
static void who_has_the_lock_is_written_wherever_it_is(void **state)
{
	struct one *o;

	(void)state;
	if (!begin_waiting())
		skip();
	o = start(AT_SLEEP, NULL);
	assert_true(await(o));
	assert_true(await(start(AT_SLEEP, NULL)));
	assert_int_equal(look(), 0);
	__atomic_store_n(&mutex.lock, 2, __ATOMIC_RELAXED); /* taken, and waited for */
	mutex.owner = o->tid;
	assert_int_equal(look(), 1);
	assert_int_equal(found[0].tid, o->tid);
	assert_int_equal(found[0].flags, GST_SAMPLE_HOLDS);
	mutex.owner = (uint32_t)syscall(SYS_gettid); /* the recorder's own */
	assert_int_equal(look(), 0);
	mutex.owner = 0x3fffffff; /* nobody's */
	assert_int_equal(look(), 0);
	start(AT_COMPUTING, NULL);
	mutex.owner = ones[n_ones - 1].tid;
	assert_true(await(&ones[n_ones - 1]));
	assert_int_equal(look(), 1);
	assert_int_equal(found[0].flags, GST_SAMPLE_HOLDS);
	mutex.owner = 0;
	assert_int_equal(look(), 1);
	assert_int_equal(found[0].flags, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_poll_that_never_returns_feeds_nobody, begin, end),
		cmocka_unit_test_setup_teardown(a_poll_that_has_taken_something_is_a_feeder, begin, end),
		cmocka_unit_test_setup_teardown(a_poll_for_a_time_must_run_more_often, begin, end),
		cmocka_unit_test_setup_teardown(a_read_is_a_feeders, begin, end),
		cmocka_unit_test_setup_teardown(what_tells_nothing_is_not_written, begin, end),
		cmocka_unit_test_setup_teardown(who_computes_outside_of_the_driver_may_hold_it, begin, end),
		cmocka_unit_test_setup_teardown(the_threads_of_libraries_hold_nothing, begin, end),
		cmocka_unit_test_setup_teardown(the_others_are_of_the_same_time, begin, end),
		cmocka_unit_test_setup_teardown(who_has_the_lock_is_written_wherever_it_is, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
