// SPDX-License-Identifier: BSD-2-Clause
// unwind WAY SYMBOL: the driver (unwind_driver.cc) leaves the next call of this name without returning: by an exception, a jump, the end of
// the thread, its cancellation. Whoever called it: the program, or a recorder inside another call. Then everybody goes on, and what a
// recorder might have left half done is asked for: streams and contexts go, captures begin. What came of it, if it happened at all,
// goes to the file that UNWIND_CAME names; what is printed is the same with a recorder and without.
extern "C" {
#define SURVIVE_BY_NAME
#include "survive.h"
}
#include <pthread.h>
#include <setjmp.h>

static const char *way, *symbol;
static const CUstream stream = reinterpret_cast<CUstream>(0x10000);
static thread_local bool armed;
static thread_local sigjmp_buf back;
static int left, events;

struct left_driver {};

static void leave(const char *in)
{
	events += strcmp(in, "cuEventRecord") == 0;
	if (!armed || strcmp(in, symbol) != 0)
		return;
	armed = false;
	left++;
	if (strcmp(way, "throw") == 0)
		throw left_driver();
	if (strcmp(way, "jump") == 0)
		siglongjmp(back, 1);
	if (strcmp(way, "exit") == 0)
		pthread_exit(NULL);
	pthread_cancel(pthread_self());
	pthread_testcancel();
}

// No call that may be left is counted: it may be in the trace or not.
static void calls()
{
	driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
	driver.cuStreamSynchronize(stream);
	driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
	driver.cuStreamDestroy_v2(stream);
	driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
	driver.cuCtxDestroy_v2(reinterpret_cast<CUcontext>(0x10000));
}

static void go_on()
{
	CU(cuCtxSetCurrent, reinterpret_cast<CUcontext>(0x10000));
	for (int i = 0; i < 20; i++) {
		CUstream s;

		CU(cuStreamCreate, &s, 0);
		CU(cuLaunchKernel, kernel, 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL);
		CU(cuStreamSynchronize, s);
		CU(cuStreamDestroy_v2, s);
	}
}

struct leaving { // its thread makes calls on its way out
	~leaving()
	{
		if (!armed)
			go_on();
	}
};

static void *thread(void *)
{
	leaving here;

	for (int i = 0; i < 3; i++) {
		armed = true;
		if (sigsetjmp(back, 1) == 0) {
			try {
				calls();
			} catch (const left_driver &) {
			}
		}
		armed = false;
		go_on();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *came = getenv("UNWIND_CAME");
	uint64_t begin_ns;

	if (argc != 3)
		return 2;
	way = argv[1];
	symbol = argv[2];
	link_driver();
	*static_cast<void (**)(const char *)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "driver_leave")) = leave;
	CU(cuInit, 0);
	go_on();
	begin_ns = now_ns();
	for (int i = 0; i < 3; i++) {
		pthread_t t;

		pthread_create(&t, NULL, thread, NULL);
		pthread_join(t, NULL);
		events = 0;
		go_on();
	}
	printf("soon: %d\n", now_ns() - begin_ns < 5000000000);
	if (came) {
		FILE *file = fopen(came, "w");

		fprintf(file, "%d %d\n", left, events);
		fclose(file);
	}
	return 0;
}
