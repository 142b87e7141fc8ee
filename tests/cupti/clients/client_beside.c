/* SPDX-License-Identifier: BSD-2-Clause */
/* client_beside: one thread launches kernels and waits for each, all the time; when some are done the other one subscribes to CUPTI, and ends
 * the program when as many more are. Prints what its subscription came to. */
#include "sample.h"

#include <pthread.h>
#include <unistd.h>

#include "shim/cupti_api.h"

enum { LAUNCHES = 300, NAP_US = 200 };

int cuptiSubscribe(void **subscriber, cupti_callback *callback, void *user);

static CUcontext context;
static CUfunction kernel;
static unsigned done;
static bool over;

static void *work(void *arg)
{
	CUstream stream;

	(void)arg;
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
		CHECK(cuStreamSynchronize(stream));
		__atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
		usleep(NAP_US);
	}
	return NULL;
}

static unsigned launches(void)
{
	return __atomic_load_n(&done, __ATOMIC_RELAXED);
}

static void await(unsigned n)
{
	while (launches() < n)
		usleep(NAP_US);
}

static void on_call(void *user, uint32_t domain, uint32_t call_id, const void *data)
{
	(void)user, (void)domain, (void)call_id, (void)data;
}

int main(void)
{
	pthread_t thread;
	void *subscriber;

	sample_device(0);
	CHECK(cuCtxGetCurrent(&context));
	kernel = sample_function(sample_module(PTX_HEADER ".visible .entry one__20us()\n{\nret;\n}\n"), "one__20us");
	REQUIRE(pthread_create(&thread, NULL, work, NULL) == 0);
	await(LAUNCHES);
	printf("subscribe: %d\n", cuptiSubscribe(&subscriber, on_call, NULL));
	await(launches() + LAUNCHES);
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	REQUIRE(pthread_join(thread, NULL) == 0);
	return 0;
}
