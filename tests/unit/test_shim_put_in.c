/* SPDX-License-Identifier: BSD-2-Clause */
/* What is put into a stream and gets no number, between two submissions of a burst: an edge in front of it does not say when the submission
 * behind it could begin. By the functions that the rows of hooks.def became, and by reading the rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/unit/bursts.h"

static CUdeviceptr pointer;
static size_t size;
static CUmemLocation location;
static CUDA_LAUNCH_PARAMS launches[2] = { { .hStream = STREAM_B }, { .hStream = STREAM_A } };

#define CALLS(_)                                                                                         \
	_(cuCtxWaitEvent, NULL, NULL)                                                                    \
	_(cuGreenCtxWaitEvent, NULL, NULL)                                                               \
	_(cuLaunchCooperativeKernelMultiDevice, launches, 2, 0)                                          \
	BOTH(_, cuGraphUpload, NULL, STREAM_A)                                                           \
	BOTH(_, cuGraphicsMapResources, 0, NULL, STREAM_A)                                               \
	BOTH(_, cuGraphicsUnmapResources, 0, NULL, STREAM_A)                                             \
	BOTH(_, cuMemAllocAsync, &pointer, 1, STREAM_A)                                                  \
	BOTH(_, cuMemAllocFromPoolAsync, &pointer, 1, NULL, STREAM_A)                                    \
	BOTH(_, cuMemBatchDecompressAsync, NULL, 0, 0, NULL, STREAM_A)                                   \
	BOTH(_, cuMemDiscardAndPrefetchBatchAsync, &pointer, &size, 0, &location, &size, 0, 0, STREAM_A) \
	BOTH(_, cuMemDiscardBatchAsync, &pointer, &size, 0, 0, STREAM_A)                                 \
	BOTH(_, cuMemFreeAsync, pointer, STREAM_A)                                                       \
	BOTH(_, cuMemMapArrayAsync, NULL, 0, STREAM_A)                                                   \
	BOTH(_, cuMemPrefetchAsync, pointer, 1, 0, STREAM_A)                                             \
	BOTH(_, cuMemPrefetchAsync_v2, pointer, 1, location, 0, STREAM_A)                                \
	BOTH(_, cuMemPrefetchBatchAsync, &pointer, &size, 0, &location, &size, 0, 0, STREAM_A)           \
	BOTH(_, cuSignalExternalSemaphoresAsync, NULL, NULL, 0, STREAM_A)                                \
	BOTH(_, cuStreamAttachMemAsync, STREAM_A, pointer, 1, 0)                                         \
	BOTH(_, cuStreamWriteValue32, STREAM_A, pointer, 1, 0)                                           \
	BOTH(_, cuStreamWriteValue32_v2, STREAM_A, pointer, 1, 0)                                        \
	BOTH(_, cuStreamWriteValue64, STREAM_A, pointer, 1, 0)                                           \
	BOTH(_, cuStreamWriteValue64_v2, STREAM_A, pointer, 1, 0)
#define BOTH(_, sym, ...) _(sym, __VA_ARGS__) _(sym##_ptsz, __VA_ARGS__)

#define PUT(sym, ...)                    \
	static CUresult put_##sym(void)  \
	{                                \
		return sym(__VA_ARGS__); \
	}
CALLS(PUT)
#undef PUT
#define PUT(sym, ...) { HOOK_##sym, put_##sym },
static const struct {
	enum hook_id hook;
	CUresult (*put)(void);
} calls[] = { CALLS(PUT) };
#define N_CALLS (sizeof(calls) / sizeof(*calls))

static CUresult nothing(void)
{
	return CUDA_SUCCESS;
}

#define SERVES_BOTH "ELELELE"  /* behind the second launch: it has not fired when the third one is made */
#define HAS_ITS_OWN "ELELEELE" /* the third one, before it */

/* Two launches in the middle of a burst, all work still unfinished, and this between them. */
static void between_launches(const char *name, CUresult (*call)(void), const char *log)
{
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	driver.query_answer = CUDA_ERROR_NOT_READY;
	launch_whole(STREAM_A, CUDA_SUCCESS);
	if (call() != CUDA_SUCCESS)
		fail_msg("%s was refused", name);
	launch_whole(STREAM_A, CUDA_SUCCESS);
	if (strcmp(log_text(), log) != 0)
		fail_msg("%s between two launches: %s", name, log_text());
	driver.query_answer = CUDA_SUCCESS;
	while (is_on())
		launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_int_equal(last_burst().passed, 0);
	assert_int_equal(last_burst().edges, recorded_on(STREAM_A));
	edges_harvest(&me->ring, edges_context_is_current);
}

static void the_next_submission_has_an_edge_before_it(void **state)
{
	(void)state;
	real.cuDeviceGetMemPool = (void *)nothing; /* asked of pools, behind calls that take from one */
	real.cuMemPoolGetAttribute = (void *)nothing;
	between_launches("nothing", nothing, SERVES_BOTH);
	for (size_t i = 0; i < N_CALLS; i++) {
		*hooks[calls[i].hook].real = (void *)nothing;
		between_launches(hooks[calls[i].hook].name, calls[i].put, HAS_ITS_OWN);
	}
}

static CUresult prefetch_elsewhere(void)
{
	return cuMemPrefetchAsync(pointer, 1, 0, STREAM_B);
}

static void what_is_put_into_another_stream_is_no_matter(void **state)
{
	(void)state;
	real.cuMemPrefetchAsync = (void *)nothing;
	between_launches("nothing", nothing, SERVES_BOTH);
	between_launches("another stream", prefetch_elsewhere, SERVES_BOTH);
	assert_null(stream_find(me, STREAM_B)); /* nor is the driver asked about it */
}

static CUresult copy_on_the_host(void)
{
	CUDA_MEMCPY2D c = {
		.srcMemoryType = CU_MEMORYTYPE_HOST, .dstMemoryType = CU_MEMORYTYPE_HOST, .WidthInBytes = 1, .Height = 1
	};

	return cuMemcpy2DAsync_v2(&c, STREAM_A);
}

static void so_does_a_copy_from_host_to_host(void **state)
{
	(void)state;
	real.cuMemcpy2DAsync_v2 = (void *)nothing;
	between_launches("a copy", copy_on_the_host, HAS_ITS_OWN);
}

/* ---- all of them ----------------------------------------------------------------------------------------------------------- */

/* Rows that name a stream and put nothing into it. */
static const char *const ask_or_set[] = {
	"cuStreamCopyAttributes",
	"cuStreamGetCaptureInfo",
	"cuStreamGetCaptureInfo_v2",
	"cuStreamGetCaptureInfo_v3",
	"cuStreamIsCapturing",
	"cuStreamSetAttribute",
	"cuStreamUpdateCaptureDependencies",
	"cuStreamUpdateCaptureDependencies_v2",
};

static bool asks_or_sets(const char *name)
{
	for (size_t i = 0; i < sizeof(ask_or_set) / sizeof(*ask_or_set); i++) {
		size_t n = strlen(ask_or_set[i]);

		if (strncmp(name, ask_or_set[i], n) == 0 && (!name[n] || strcmp(name + n, "_ptsz") == 0))
			return true;
	}
	return false;
}

/* put_in() and those of hooks.def's captures that do it beside something else. Waits are not among them: they have edges of their own. */
static bool puts_in(const char *before)
{
	static const char *const captures[] = { "put_in", "pool_allocating(", "pool_freeing(", "in_stream_order(",
						"write_memory(" };

	for (size_t i = 0; i < sizeof(captures) / sizeof(*captures); i++)
		if (strncmp(before, captures[i], strlen(captures[i])) == 0)
			return true;
	return false;
}

static bool is_called(const char *name)
{
	for (size_t i = 0; i < N_CALLS; i++)
		if (strcmp(hooks[calls[i].hook].name, name) == 0)
			return true;
	return false;
}

static void every_call_that_names_a_stream_says_what_it_does_to_it(void **state)
{
#define HOOK(sym, family, params, ...) { #sym, "", "", #params },
#define HOOKX(sym, family, before, after, params, ...) { #sym, #before, #after, #params },
#define REAL(sym, ...)
	static const struct {
		const char *name, *before, *after, *params;
	} rows[] = {
#include "hooks.def"
	};
#undef HOOK
#undef HOOKX
#undef REAL
	unsigned plain = 0, seen = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (puts_in(rows[i].before) || puts_in(rows[i].after)) {
			seen++;
			if (!is_called(rows[i].name))
				fail_msg("%s is not called here", rows[i].name);
		} else if (!*rows[i].before && strstr(rows[i].params, "CUstream ") &&
			   !strstr(rows[i].params, "CUstream *")) {
			plain++;
			if (!asks_or_sets(rows[i].name))
				fail_msg("%s: what it puts into its stream is not seen", rows[i].name);
		}
	}
	assert_int_equal(seen, N_CALLS);
	assert_true(plain > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_next_submission_has_an_edge_before_it, set_up_bursts),
		cmocka_unit_test_setup(what_is_put_into_another_stream_is_no_matter, set_up_bursts),
		cmocka_unit_test_setup(so_does_a_copy_from_host_to_host, set_up_bursts),
		cmocka_unit_test(every_call_that_names_a_stream_says_what_it_does_to_it),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
