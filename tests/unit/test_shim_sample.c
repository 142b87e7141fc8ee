/* SPDX-License-Identifier: BSD-2-Clause */
/* What is written of the other threads where one waits in a futex: those that may be waited for, and no others. */
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <poll.h>

#include "shim_trace.h"

#include "shim/sample.c" /* looks are taken here, one at a time */
#include "task_file.h"

#define WAIT_TRIES 20000 /* of 100 us */

static struct ring ring;
static uint32_t word; /* the futex */
static uint32_t stop; /* who computes ends */
static struct thread_slot slots_waiter;

/* ---- threads that stand somewhere ---------------------------------------------------------------------------------------- */

enum at { AT_FUTEX, AT_POLL, AT_READ, AT_WRITE, AT_EPOLL, AT_SLEEP, AT_COMPUTING };

static struct one {
	pthread_t id;
	uint32_t tid;
	enum at at;
	const char *name;
	int fds[2]; /* it is at the first */
	bool lives;
} ones[8];
static unsigned n_ones;

static void stand(const struct one *o)
{
	struct pollfd p = { .fd = o->fds[0], .events = POLLIN };
	struct epoll_event event;
	char bytes[256];
	int epoll;

	switch (o->at) {
	case AT_FUTEX:
		while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE))
			syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
		break;
	case AT_POLL: /* it takes what there is and goes on */
		do
			poll(&p, 1, -1);
		while (read(o->fds[0], bytes, 1) > 0);
		break;
	case AT_READ:
		while (read(o->fds[0], bytes, 1) > 0)
			;
		break;
	case AT_WRITE: /* until nobody reads any more */
		memset(bytes, 0, sizeof(bytes));
		while (send(o->fds[0], bytes, sizeof(bytes), MSG_NOSIGNAL) > 0)
			;
		break;
	case AT_EPOLL:
		epoll = epoll_create1(EPOLL_CLOEXEC);
		event = (struct epoll_event){ .events = EPOLLIN };
		epoll_ctl(epoll, EPOLL_CTL_ADD, o->fds[0], &event);
		epoll_wait(epoll, &event, 1, -1);
		close(epoll);
		break;
	case AT_SLEEP:
		while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
			usleep(100000);
		break;
	case AT_COMPUTING:
		while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
			;
		break;
	}
}

static void *live(void *arg)
{
	struct one *o = arg;

	if (o->name)
		prctl(PR_SET_NAME, o->name);
	__atomic_store_n(&o->tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	stand(o);
	return NULL;
}

static bool is_at(enum at at, long nr)
{
	switch (at) {
	case AT_FUTEX:
		return nr == SYS_futex;
	case AT_POLL:
		return sample_file_is_poll(nr);
	case AT_READ:
		return nr == SYS_read;
	case AT_WRITE:
		return nr == SYS_sendto;
	case AT_EPOLL:
#ifdef SYS_epoll_wait
		if (nr == SYS_epoll_wait)
			return true;
#endif
		return nr == SYS_epoll_pwait;
	case AT_SLEEP:
		return nr == SYS_clock_nanosleep || nr == SYS_nanosleep;
	case AT_COMPUTING:
		break;
	}
	return false;
}

/* As the kernel says: "running", or the number of a system call. */
static bool stands_there(const struct one *o)
{
	char text[256];

	if (!task_file_read(text, sizeof(text), o->tid, "syscall"))
		return false;
	if (strncmp(text, "running", 7) == 0)
		return o->at == AT_COMPUTING;
	return is_at(o->at, strtol(text, NULL, 10));
}

/* False: the kernel says nothing of this kind (an emulator, a sandbox). */
static bool await(const struct one *o)
{
	for (int i = 0; i < WAIT_TRIES; i++) {
		if (stands_there(o))
			return true;
		usleep(100);
	}
	return false;
}

static struct one *start(enum at at, const char *name)
{
	struct one *o = &ones[n_ones++];

	*o = (struct one){ .at = at, .name = name };
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, o->fds), 0);
	o->lives = pthread_create(&o->id, NULL, live, o) == 0;
	assert_true(o->lives);
	while (!__atomic_load_n(&o->tid, __ATOMIC_ACQUIRE))
		usleep(100);
	return o;
}

static void end_all(void)
{
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
	for (struct one *o = ones; o < ones + n_ones; o++) {
		shutdown(o->fds[1], SHUT_RDWR);
		if (o->lives)
			pthread_join(o->id, NULL);
		close(o->fds[0]);
		close(o->fds[1]);
	}
	n_ones = 0;
}

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
static unsigned n_found;

/* The waiter's silence begins now. */
static void new_silence(void)
{
	slots_waiter.last_end = clock_ticks();
}

/* What one look writes of threads other than the one that waits. */
static unsigned look(void)
{
	uint32_t at = ring.at;
	unsigned own = 0;

	n_found = 0;
	sample(&ring, &slots_waiter, clock_ticks());
	assert_true(ring.at > at);
	while (at < ring.at) {
		const struct gst_sample *s = (const void *)(ring.segment + at);

		at += s->record.size;
		if (s->record.type != GST_SAMPLE)
			continue;
		own += s->tid == slots_waiter.tid;
		if (s->tid != slots_waiter.tid)
			found[n_found++] = *s;
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
	stop = word = 0;
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

/* It has taken something since the silence before, so it may be what hands on: all through this one. */
static void a_poll_that_has_taken_something_is_a_feeder(void **state)
{
	char before[64];
	struct one *o;

	(void)state;
	if (!begin_waiting())
		skip();
	o = start(AT_POLL, NULL);
	assert_true(await(o));
	task_file_read(before, sizeof(before), o->tid, "schedstat");
	if (strncmp(before, "0 0 0", 5) == 0 || !*before)
		skip(); /* a kernel that does not count */
	assert_int_equal(look(), 0);
	assert_int_equal(write(o->fds[1], "x", 1), 1);
	for (int i = 0; !has_run(o, before); i++) {
		assert_true(i < WAIT_TRIES);
		usleep(100);
	}
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
		assert_int_equal(ring.at - at, sizeof(struct gst_sample));
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
	tid = o->tid;
	ends_while_the_stack_is_walked = true;
	assert_int_equal(look(), 1);
	assert_int_equal(found[0].tid, tid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_poll_that_never_returns_feeds_nobody, begin, end),
		cmocka_unit_test_setup_teardown(a_poll_that_has_taken_something_is_a_feeder, begin, end),
		cmocka_unit_test_setup_teardown(a_read_is_a_feeders, begin, end),
		cmocka_unit_test_setup_teardown(what_tells_nothing_is_not_written, begin, end),
		cmocka_unit_test_setup_teardown(who_computes_outside_of_the_driver_may_hold_it, begin, end),
		cmocka_unit_test_setup_teardown(the_threads_of_libraries_hold_nothing, begin, end),
		cmocka_unit_test_setup_teardown(the_others_are_of_the_same_time, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
