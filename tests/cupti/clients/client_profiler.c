/* SPDX-License-Identifier: BSD-2-Clause */
/* client_profiler linked|dlsym before|after|activities|found|never: a program that profiles itself with CUPTI, as PyTorch does: it subscribes
 * before its first driver call, or after ROUNDS kernels and twice as many copies, or only asks for records then, or only looks for the
 * functions at both times, or not at all, and then puts in as many again. Prints what its subscription came to, and how many kernels and
 * copies its own records have; a line more if their times are not of CUPTI's own clock. */
#include "sample.h"

#include <dlfcn.h>
#include <time.h>

#include "shim/cupti_api.h"

#define ROUNDS 50
#define BUFFER_BYTES (1u << 16)

#define DECLARE(name, params) int name params;
CUPTI_FUNCTIONS(DECLARE, DECLARE)

static struct cupti_api cupti;
static void *subscriber;
static unsigned kernels, copies, calls, strange;

static void find(bool linked)
{
	void *library = linked ? NULL : dlopen("libcupti.so.13", RTLD_NOW);

#define LINKED(name, params) cupti.name = linked ? name : (__typeof__(name) *)dlsym(library, #name);
	CUPTI_FUNCTIONS(LINKED, LINKED)
}

static void on_call(void *user, uint32_t domain, uint32_t call_id, const void *data)
{
	(void)user, (void)domain, (void)call_id, (void)data;
	calls++;
}

static void on_wanted(uint8_t **buffer, size_t *size, size_t *records)
{
	*buffer = malloc(BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*records = 0;
}

/* CUPTI's own clock is CLOCK_REALTIME. */
static bool is_now(uint64_t ns)
{
	int64_t ago = (int64_t)time(NULL) - (int64_t)(ns / 1000000000u);

	return ago > -60 && ago < 60;
}

static void on_full(struct CUctx_st *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	struct cupti_record *r = NULL;

	(void)context, (void)stream, (void)size;
	while (cupti.cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS) {
		kernels += r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
		strange += r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
			   !is_now(((const struct cupti_kernel *)r)->start);
		copies += r->kind == CUPTI_ACTIVITY_KIND_MEMCPY;
	}
	free(buffer); /* which must be one of ours */
}

static void begin_activities(bool linked)
{
	find(linked);
	REQUIRE(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS);
	REQUIRE(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY) == CUPTI_SUCCESS);
	REQUIRE(cupti.cuptiActivityRegisterCallbacks(on_wanted, on_full) == CUPTI_SUCCESS);
}

static void begin(bool linked)
{
	int rc;

	find(linked);
	rc = cupti.cuptiSubscribe(&subscriber, on_call, NULL);

	printf("subscribe: %d\n", rc);
	if (rc)
		return;
	REQUIRE(cupti.cuptiActivityRegisterCallbacks(on_wanted, on_full) == CUPTI_SUCCESS);
	REQUIRE(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS);
	REQUIRE(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY) == CUPTI_SUCCESS);
	REQUIRE(cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, 307) ==
		CUPTI_SUCCESS); /* cuLaunchKernel */
}

static void work(CUfunction kernel, CUdeviceptr device, void *host)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(cuMemcpyHtoD(device, host, 4096));
		CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
		CHECK(cuMemcpyDtoH(host, device, 4096));
	}
	CHECK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	static char host[4096];
	const char *when = argc > 2 ? argv[2] : "";
	bool linked = argc > 1 && strcmp(argv[1], "linked") == 0;
	CUdeviceptr device;
	CUfunction kernel;

	if (strcmp(when, "before") == 0)
		begin(linked);
	if (strcmp(when, "found") == 0)
		find(linked);
	sample_device(0);
	kernel = sample_function(sample_module(PTX_HEADER ".visible .entry one__20us()\n{\nret;\n}\n"), "one__20us");
	CHECK(cuMemAlloc(&device, sizeof(host)));
	if (strcmp(when, "after") == 0) {
		work(kernel, device, host);
		begin(linked);
	}
	if (strcmp(when, "found") == 0) {
		work(kernel, device, host);
		find(linked);
	}
	if (strcmp(when, "activities") == 0) {
		work(kernel, device, host);
		begin_activities(linked);
	}
	work(kernel, device, host);
	if (subscriber || strcmp(when, "activities") == 0)
		REQUIRE(cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) == CUPTI_SUCCESS);
	if (subscriber)
		REQUIRE(cupti.cuptiUnsubscribe(subscriber) == CUPTI_SUCCESS);
	printf("kernels %u, copies %u, calls %u\n", kernels, copies, calls);
	if (strange)
		printf("%u at times of another clock\n", strange);
	return 0;
}
