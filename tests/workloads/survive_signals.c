/* SPDX-License-Identifier: BSD-2-Clause */
/* survive_signals CASE: handlers that make driver calls wherever they come, and threads that leave in the middle of one; on a driver without
 * locks of its own (tests/bench; the simulated one waits with a lock in hand). */
#define SURVIVE_BY_NAME
#include "survive.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static CUstream stream = (CUstream)(uintptr_t)0x10000;
static volatile int handled, alien_errno;

static void calls(int sig)
{
	int before = errno;

	(void)sig;
	CU(cuMemsetD32Async, 0x70000000, 0, 1024, stream);
	CU(cuStreamSynchronize, stream);
	CU(cuEventQuery, (CUevent)stream);
	alien_errno += errno != before;
	handled++;
}

static void every(int us)
{
	struct itimerval timer = { { 0, us }, { 0, us } };

	setitimer(ITIMER_REAL, &timer, NULL);
}

static void loop(uint64_t ns)
{
	for (uint64_t end_ns = now_ns() + ns; now_ns() < end_ns;) {
		errno = 12345;
		CU(cuLaunchKernel, (CUfunction)stream, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
		CU(cuMemsetD32Async, 0x70000000, 0, 1024, stream);
		CU(cuEventRecord, (CUevent)stream, stream);
		CU(cuStreamQuery, stream);
		CU(cuStreamSynchronize, stream);
		alien_errno += errno != 12345;
	}
	every(0);
}

/* In the middle of anything: of our functions above all, as the driver returns at once. */
static void handler_calls(void)
{
	struct sigaction act = { .sa_handler = calls, .sa_flags = SA_RESTART | SA_NODEFER };

	sigaction(SIGALRM, &act, NULL);
	REQUIRE(CU(cuInit, 0) == CUDA_SUCCESS);
	every(250);
	loop(200000000);
	printf("handled: %d, errno changed: %d\n", handled > 50, alien_errno);
}

/* The same on an alternate stack of no great size, above or below the thread's. */
static void alternate_stack(void)
{
	static uint8_t stack[8192 + 4096]; /* SIGSTKSZ, and what AVX-512 state adds */
	struct sigaction act = { .sa_handler = calls, .sa_flags = SA_RESTART | SA_ONSTACK };
	stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };

	memset(stack, 0x5a, sizeof(stack));
	sigaltstack(&other, NULL);
	sigaction(SIGALRM, &act, NULL);
	every(250);
	loop(150000000);
	printf("handled: %d, errno changed: %d, room left: %d\n", handled > 50, alien_errno,
	       stack[0] == 0x5a && stack[1023] == 0x5a);
}

static sigjmp_buf back;
static volatile int jumping;

static void jumps(int sig)
{
	(void)sig;
	if (jumping)
		siglongjmp(back, 1);
}

/* Out of the middle of anything. Calls that were left may be recorded or not; those that come later are. */
static void jump_out(void)
{
	volatile int jumped = 0;

	signal(SIGALRM, jumps);
	every(500);
	for (uint64_t end_ns = now_ns() + 200000000; now_ns() < end_ns;) {
		if (sigsetjmp(back, 1))
			jumped++;
		jumping = 1;
		for (int i = 0; i < 50; i++) {
			driver.cuLaunchKernel((CUfunction)stream, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
			driver.cuStreamSynchronize(stream);
		}
		jumping = 0;
	}
	every(0);
	for (int i = 0; i < 1000; i++)
		CU(cuEventQuery, (CUevent)stream);
	printf("jumped: %d\n", jumped > 50);
}

static void *first_uses(void *arg)
{
	(void)arg;
	for (uintptr_t i = 0; i < 100; i++)
		CU(cuLaunchKernel, (CUfunction)stream, 1, 1, 1, 32, 1, 1, 0, (CUstream)(0x20000 + i * 0x100), NULL,
		   NULL);
	return NULL;
}

/* Out of the first use of a stream, wherever that is. Then another thread uses some that are new to everybody. */
static void jump_out_of_first_uses(void)
{
	volatile int jumped = 0;
	pthread_t thread;

	CU(cuLaunchKernel, (CUfunction)stream, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
	signal(SIGALRM, jumps);
	every(500);
	for (uint64_t end_ns = now_ns() + 300000000; now_ns() < end_ns;) {
		if (sigsetjmp(back, 1)) {
			jumped++;
			continue;
		}
		jumping = 1;
		for (int i = 0; i < 50; i++) {
			driver.cuLaunchKernel((CUfunction)stream, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
			driver.cuStreamDestroy_v2(stream); /* it comes back as a new one */
		}
		jumping = 0;
	}
	every(0);
	REQUIRE(pthread_create(&thread, NULL, first_uses, NULL) == 0);
	pthread_join(thread, NULL);
	printf("jumped: %d\n", jumped > 50);
}

/* Cancelled while it waits in a driver call. The driver's cuCtxSynchronize must be a place for it. */
static void *waits(void *arg)
{
	if (arg)
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (int i = 0; i < 100; i++)
		CU(cuEventQuery, (CUevent)stream);
	driver.cuCtxSynchronize(); /* does not return */
	return arg;
}

static void cancelled(void)
{
	for (int i = 0; i < 20; i++) {
		pthread_t thread;
		void *result;

		REQUIRE(pthread_create(&thread, NULL, waits, i % 2 ? (void *)&handled : NULL) == 0);
		usleep(5000);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		REQUIRE(result == PTHREAD_CANCELED);
		CU(cuEventQuery, (CUevent)stream);
	}
}

int main(int argc, char **argv)
{
	static const struct survive_case cases[] = {
		{ "handler", handler_calls }, { "alternate-stack", alternate_stack },
		{ "jump", jump_out },         { "jump-out-of-first-uses", jump_out_of_first_uses },
		{ "cancelled", cancelled },
	};

	return survive_main(cases, sizeof(cases) / sizeof(*cases), argc, argv);
}
