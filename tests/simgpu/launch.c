/* SPDX-License-Identifier: BSD-2-Clause */
/* launch.c: kernels and host functions. A launch takes SIMGPU_LAUNCH_NS of the caller's time. */
#include "launch.h"

#include "capture.h"
#include "context.h"
#include "function.h"
#include "graph_attributes.h"
#include "kernel_run.h"
#include "settings.h"
#include "slow.h"
#include "stream.h"

enum { MAX_BLOCK_THREADS = 1024, MAX_GRID_YZ = 65535, MAX_BLOCK_Z = 64 };

CUfunction launch_function(const CUDA_KERNEL_NODE_PARAMS_v3 *k)
{
	CUcontext context = k->ctx;

	if (!context)
		context_current(&context);
	return function_in(k->func ? k->func : (CUfunction)k->kern, context);
}

CUresult launch_check(const CUDA_KERNEL_NODE_PARAMS_v3 *k)
{
	CUfunction f = launch_function(k);

	if (!f)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!k->gridDimX || !k->gridDimY || !k->gridDimZ || !k->blockDimX || !k->blockDimY || !k->blockDimZ)
		return CUDA_ERROR_INVALID_VALUE;
	if (k->gridDimX > 0x7fffffff || k->gridDimY > MAX_GRID_YZ || k->gridDimZ > MAX_GRID_YZ)
		return CUDA_ERROR_INVALID_VALUE;
	if ((uint64_t)k->blockDimX * k->blockDimY * k->blockDimZ > MAX_BLOCK_THREADS || k->blockDimZ > MAX_BLOCK_Z)
		return CUDA_ERROR_INVALID_VALUE;
	if (k->sharedMemBytes > function_shared_limit(f) || (k->kernelParams && k->extra))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult launch_op(const CUDA_KERNEL_NODE_PARAMS_v3 *k, struct op **op)
{
	CUfunction f = launch_function(k);
	CUresult result;

	if (!f)
		return CUDA_ERROR_INVALID_HANDLE;
	*op = op_new(OP_KERNEL, f->module->context->device);
	if (!*op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*op)->name = f->name;
	(*op)->duration_ns = f->duration_ns;
	result = kernel_run_attach(*op, f, k->kernelParams);
	if (result)
		op_unref(*op);
	return result;
}

/* A launch as it was asked for. */
struct launch {
	CUDA_KERNEL_NODE_PARAMS_v3 kernel;
	const CUlaunchAttribute *attributes;
	unsigned attribute_count;
};

static CUresult capture_kernel(struct CUstream_st *stream, const CUDA_KERNEL_NODE_PARAMS_v3 *k,
			       const struct launch *launch)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_KERNEL };
	CUgraphNode node = NULL;
	CUresult result;

	params.kernel = *k;
	result = capture_add_node(stream, &params, &node);
	if (!result && !attributes_set_launch(node, launch->attributes, launch->attribute_count))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	return result;
}

/* A kernel that belongs to no context runs in the stream's. */
static CUresult submit_kernel(const struct call *call, const struct launch *launch, CUstream s)
{
	CUDA_KERNEL_NODE_PARAMS_v3 kernel = launch->kernel, *k = &kernel;
	struct CUstream_st *stream;
	struct op *op;
	CUresult result = launch_check(k);

	if (!result)
		result = stream_resolve_capturable(call, s, &stream);
	if (result)
		return result;
	k->func = function_in(k->func, stream->context);
	if (!k->func || k->func->module->context != stream->context)
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream->capture)
		return capture_kernel(stream, k, launch);
	result = launch_op(k, &op);
	if (result)
		return result;
	timeline_wait_for_room(op->device);
	op->counted = true;
	stream_submit(call, stream, op);
	op_unref(op);
	return CUDA_SUCCESS;
}

/* As CUDA_MODULE_LOADING=LAZY has it: code comes to the device when it is launched first. */
static void load_code(const struct call *call, const struct launch *launch)
{
	CUfunction f;
	bool first = false;

	sim_lock();
	if (!launch_check(&launch->kernel) && (f = function_in(launch->kernel.func, call->context))) {
		first = !f->loaded;
		f->loaded = true;
	}
	sim_unlock();
	if (first)
		slow_first_launch();
}

static CUresult run(const struct call *call, const struct launch *launch, CUstream s)
{
	CUresult result;

	if (settings()->first_launch_ns)
		load_code(call, launch);
	sim_lock();
	result = submit_kernel(call, launch, s);
	sim_unlock();
	if (!result)
		clock_spin_until(call->entry_ns + settings()->launch_ns);
	return result;
}

CUresult api_launch(CALL, CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
		    unsigned int by, unsigned int bz, unsigned int shared, CUstream s, void **params, void **extra)
{
	const struct launch launch = { .kernel = { f, gx, gy, gz, bx, by, bz, shared, params, extra, NULL, NULL } };

	return run(call, &launch, s);
}

CUresult api_launch_ex(CALL, const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
	struct launch launch;

	if (!c || (c->numAttrs && !c->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	launch = (struct launch){ .kernel = { f, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY,
					      c->blockDimZ, c->sharedMemBytes, params, extra, NULL, NULL },
				  .attributes = c->attrs,
				  .attribute_count = c->numAttrs };
	return run(call, &launch, c->hStream);
}

CUresult api_launch_cooperative(CALL, CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
				unsigned int by, unsigned int bz, unsigned int shared, CUstream s, void **params)
{
	const CUlaunchAttribute cooperative = { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value = { .cooperative = 1 } };
	const struct launch launch = { .kernel = { f, gx, gy, gz, bx, by, bz, shared, params, NULL, NULL, NULL },
				       .attributes = &cooperative,
				       .attribute_count = 1 };

	return run(call, &launch, s);
}

CUresult launch_host_op(const struct host_call *host, int device, struct op **op)
{
	*op = op_new(OP_HOSTFN, device);
	if (!*op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*op)->takes_real_time = true;
	(*op)->call = *host;
	return CUDA_SUCCESS;
}

static CUresult submit_host(const struct call *call, CUstream s, struct host_call host)
{
	struct CUstream_st *stream;
	struct op *op;
	CUresult result =
		host.callback ? stream_resolve(call, s, &stream) : stream_resolve_capturable(call, s, &stream);

	if (result)
		return result;
	if (stream->capture) {
		CUgraphNodeParams node = { .type = CU_GRAPH_NODE_TYPE_HOST };

		node.host = (CUDA_HOST_NODE_PARAMS_v2){ host.function, host.argument };
		return capture_add(stream, &node);
	}
	result = launch_host_op(&host, stream->context->device, &op);
	if (result)
		return result;
	stream_submit(call, stream, op);
	op_unref(op);
	return CUDA_SUCCESS;
}

CUresult api_launch_host(CALL, CUstream s, CUhostFn function, void *argument)
{
	CUresult result;

	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = submit_host(call, s, (struct host_call){ .function = function, .argument = argument });
	sim_unlock();
	return result;
}

CUresult api_stream_add_callback(CALL, CUstream s, CUstreamCallback callback, void *argument, unsigned int flags)
{
	CUresult result;

	if (!callback || flags)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = submit_host(call, s, (struct host_call){ .callback = callback, .argument = argument, .stream = s });
	sim_unlock();
	return result;
}
