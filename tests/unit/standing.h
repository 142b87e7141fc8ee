/* SPDX-License-Identifier: BSD-2-Clause */
/* standing.h: threads that stand somewhere, for tests that look at them. */
#pragma once

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "sample_file.h"
#include "task_file.h"

#define WAIT_TRIES 20000 /* of 100 us */

/* The futex, with what would be a mutex around it. */
static struct {
	uint32_t lock, count, owner;
} mutex;
static uint32_t stop; /* who computes ends */

enum at { AT_FUTEX, AT_POLL, AT_POLL_FOR_A_TIME, AT_READ, AT_WRITE, AT_EPOLL, AT_SLEEP, AT_COMPUTING };

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
		while (!__atomic_load_n(&mutex.lock, __ATOMIC_ACQUIRE))
			syscall(SYS_futex, &mutex.lock, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
		break;
	case AT_POLL: /* it takes what there is and goes on */
	case AT_POLL_FOR_A_TIME:
		do
			poll(&p, 1, o->at == AT_POLL ? -1 : 1000000);
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
	case AT_POLL_FOR_A_TIME:
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
	__atomic_store_n(&mutex.lock, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &mutex.lock, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
	for (struct one *o = ones; o < ones + n_ones; o++) {
		shutdown(o->fds[1], SHUT_RDWR);
		if (o->lives)
			pthread_join(o->id, NULL);
		close(o->fds[0]);
		close(o->fds[1]);
	}
	n_ones = 0;
}
