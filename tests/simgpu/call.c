/* SPDX-License-Identifier: BSD-2-Clause */
/* call.c: what happens before any implementation runs: counting, fork, initialisation, the context, injected failures. */
#include "call.h"

#include "call_names.h"
#include "capture.h"
#include "context.h"
#include "observer.h"
#include "settings.h"
#include "slow.h"
#include "timeline.h"
#include "truth_log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FAILURES = 32 };

/* name:call:code of SIMGPU_FAIL: the name's call-th call returns code. With :late behind it that call succeeds, and the next
 * one of its context returns the code, as with a kernel that fails while it runs. */
struct failure {
	char name[96];
	unsigned long long at;
	CUresult code;
	bool late;
	atomic_ullong seen;
};

static struct failure failures[MAX_FAILURES];
static unsigned failure_count;
static pthread_once_t failures_once = PTHREAD_ONCE_INIT;

static void failures_load(void)
{
	const char *text = settings()->fail;

	while (text && *text && failure_count < MAX_FAILURES) {
		struct failure *failure = &failures[failure_count];
		char when[8] = "";
		int code;

		if (sscanf(text, "%95[^:,]:%llu:%d:%7[a-z]", failure->name, &failure->at, &code, when) >= 3) {
			failure->code = (CUresult)code;
			failure->late = !strcmp(when, "late");
			failure_count++;
		}
		text = strchr(text, ',');
		text = text ? text + 1 : NULL;
	}
}

static const struct failure *injected(unsigned call_id)
{
	for (unsigned i = 0; i < failure_count; i++)
		if (slow_names_call(failures[i].name, call_name(call_id)) &&
		    atomic_fetch_add(&failures[i].seen, 1) + 1 == failures[i].at)
			return &failures[i];
	return NULL;
}

/* Errors after which a real context is of no use any more. */
static bool sticky(CUresult code)
{
	switch ((int)code) {
	case CUDA_ERROR_ECC_UNCORRECTABLE:
	case CUDA_ERROR_ILLEGAL_ADDRESS:
	case CUDA_ERROR_LAUNCH_TIMEOUT:
	case CUDA_ERROR_ASSERT:
	case CUDA_ERROR_HARDWARE_STACK_ERROR:
	case CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case CUDA_ERROR_MISALIGNED_ADDRESS:
	case CUDA_ERROR_INVALID_ADDRESS_SPACE:
	case CUDA_ERROR_INVALID_PC:
	case CUDA_ERROR_LAUNCH_FAILED:
	case CUDA_ERROR_EXTERNAL_DEVICE:
		return true;
	default:
		return false;
	}
}

CUresult call_enter(struct call *call, unsigned call_id, unsigned needs, bool per_thread)
{
	const enum need need = needs & NEED_MASK;
	CUresult result = CUDA_SUCCESS, current;
	const struct failure *failure;

	truth_log_count(call_id);
	observer_enter(call_name(call_id));
	call->entry_ns = clock_now_ns();
	call->per_thread = per_thread;
	call->context = NULL;
	pthread_once(&failures_once, failures_load);
	if (sim_forked() && (need != NEED_NOTHING || !strcmp(call_name(call_id), "cuInit")))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (need >= NEED_INIT) {
		if (!sim_initialised())
			return CUDA_ERROR_NOT_INITIALIZED;
		if (timeline_in_host_function())
			return CUDA_ERROR_NOT_PERMITTED;
		current = context_current(&call->context);
		if (need == NEED_CONTEXT) {
			if (current)
				return current;
			if (!call->context)
				return CUDA_ERROR_INVALID_CONTEXT;
			result = __atomic_load_n(&call->context->sticky, __ATOMIC_RELAXED);
			if (result)
				return result;
		}
	}
	failure = failure_count ? injected(call_id) : NULL;
	if (failure && failure->late && call->context)
		__atomic_store_n(&call->context->sticky, failure->code, __ATOMIC_RELAXED);
	else if (failure)
		result = failure->code;
	if (!result && (needs & UNSAFE))
		result = capture_forbids_unsafe();
	if (result && call->context && sticky(result))
		__atomic_store_n(&call->context->sticky, result, __ATOMIC_RELAXED);
	if (!result && settings()->slow)
		slow_call(call_name(call_id));
	return result;
}
