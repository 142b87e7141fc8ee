/* SPDX-License-Identifier: BSD-2-Clause */
/* survive_exits_linked CASE: every way for a process to end. Each case works, says so, and is gone. */
#include "survive.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static void begin(void)
{
	start("kernel__20us");
	work(40);
	puts("worked");
	fflush(stdout);
}

/* ---- exit and its handlers ---------------------------------------------------------------------------------------------- */

static void call_at_exit(void)
{
	work(8);
	REQUIRE(CU(cuCtxSynchronize) == CUDA_SUCCESS);
}

static void case_exit(void)
{
	begin();
	atexit(call_at_exit);
	exit(7);
}

static void case__exit(void)
{
	begin();
	_exit(5);
}

static void case_quick_exit(void)
{
	begin();
	if (at_quick_exit(call_at_exit))
		_exit(1);
	quick_exit(6);
}

static void *exit_here(void *arg)
{
	CU(cuCtxSetCurrent, context);
	work(8);
	exit(4);
	return arg;
}

/* From another thread, while this one sits in a driver call that takes a second. */
static void exit_elsewhere(void)
{
	CUfunction slow;
	CUmodule module;
	pthread_t thread;

	begin();
	cuModuleLoadData(&module, "x"); /* not counted: as long as the program lives they are, but not all return */
	cuModuleGetFunction(&slow, module, "kernel__1000000us");
	cuLaunchKernel(slow, 1, 1, 1, 32, 1, 1, 0, CU_STREAM_PER_THREAD, NULL, NULL);
	REQUIRE(pthread_create(&thread, NULL, exit_here, NULL) == 0);
	cuStreamSynchronize(CU_STREAM_PER_THREAD);
	pause();
}

static void *go_on(void *arg)
{
	usleep(60000); /* main has gone, and that can be seen */
	CU(cuCtxSetCurrent, context);
	work(40);
	puts("went on");
	fflush(stdout);
	return arg;
}

static void main_leaves(void)
{
	pthread_t thread;

	begin();
	REQUIRE(pthread_create(&thread, NULL, go_on, NULL) == 0);
	pthread_exit(NULL);
}

/* As where a limit on threads is reached: none of the kind that the shim opens files in is to be had. */
static void main_leaves_no_thread(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_VFORK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(rules) / sizeof(*rules), rules };

	REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
	main_leaves();
}

/* ---- signals ------------------------------------------------------------------------------------------------------------ */

static void case_abort(void)
{
	begin();
	abort();
}

static jmp_buf back;

static void jump(int sig)
{
	(void)sig;
	longjmp(back, 1);
}

static void abort_survived(void)
{
	begin();
	signal(SIGABRT, jump);
	if (!setjmp(back))
		abort();
	work(8);
}

static volatile int *nowhere;

static void case_sigsegv(void)
{
	begin();
	*nowhere = 1;
}

static void last_words(int sig)
{
	(void)sig;
	work(8);
	_exit(9);
}

/* The program's own handler, on a stack of its own, makes calls. */
static void segv_handled(void)
{
	static uint8_t stack[1 << 16];
	struct sigaction act = { .sa_handler = last_words, .sa_flags = SA_ONSTACK };
	stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };

	begin();
	sigaltstack(&other, NULL);
	sigaction(SIGSEGV, &act, NULL);
	*nowhere = 1;
}

static void case_sigterm(void)
{
	begin();
	raise(SIGTERM);
}

static void case_sigkill(void)
{
	begin();
	raise(SIGKILL);
}

/* ---- exec without fork: the same process, another image ------------------------------------------------------------------ */

static void case_exec(void)
{
	begin();
	execl("/proc/self/exe", "survive_exits_linked", "_exit", NULL);
}

int main(int argc, char **argv)
{
	static const struct survive_case cases[] = {
		{ "exit", case_exit },
		{ "_exit", case__exit },
		{ "quick_exit", case_quick_exit },
		{ "exit-elsewhere", exit_elsewhere },
		{ "main-leaves", main_leaves },
		{ "main-leaves-no-thread", main_leaves_no_thread },
		{ "abort", case_abort },
		{ "abort-survived", abort_survived },
		{ "SIGSEGV", case_sigsegv },
		{ "SIGSEGV-handled", segv_handled },
		{ "SIGTERM", case_sigterm },
		{ "SIGKILL", case_sigkill },
		{ "exec", case_exec },
	};

	return survive_main(cases, sizeof(cases) / sizeof(*cases), argc, argv);
}
