/* SPDX-License-Identifier: BSD-2-Clause */
/* launch.c: kernels and host functions. A launch takes SIMGPU_LAUNCH_NS of the caller's time. */
#include "capture.h"
#include "function.h"
#include "settings.h"
#include "stream.h"

enum { MAX_BLOCK_THREADS = 1024, MAX_GRID_YZ = 65535, MAX_BLOCK_Z = 64 };

struct shape {
	unsigned gx, gy, gz, bx, by, bz, shared;
};

static CUresult check(CUfunction f, const struct shape *s, void **params, void **extra)
{
	if (!function_valid(f))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!s->gx || !s->gy || !s->gz || !s->bx || !s->by || !s->bz || (params && extra))
		return CUDA_ERROR_INVALID_VALUE;
	if (s->gx > 0x7fffffff || s->gy > MAX_GRID_YZ || s->gz > MAX_GRID_YZ || s->bz > MAX_BLOCK_Z)
		return CUDA_ERROR_INVALID_VALUE;
	if ((uint64_t)s->bx * s->by * s->bz > MAX_BLOCK_THREADS || s->shared > function_shared_limit(f))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult capture_kernel(struct CUstream_st *stream, CUfunction f, const struct shape *s, void **params,
			       void **extra)
{
	CUgraphNodeParams node = { .type = CU_GRAPH_NODE_TYPE_KERNEL };

	node.kernel = (CUDA_KERNEL_NODE_PARAMS_v3){ .func = f,
						    .gridDimX = s->gx,
						    .gridDimY = s->gy,
						    .gridDimZ = s->gz,
						    .blockDimX = s->bx,
						    .blockDimY = s->by,
						    .blockDimZ = s->bz,
						    .sharedMemBytes = s->shared,
						    .kernelParams = params,
						    .extra = extra };
	return capture_add(stream, &node);
}

static CUresult submit_kernel(const struct call *call, CUfunction f, const struct shape *shape, CUstream s,
			      void **params, void **extra)
{
	struct CUstream_st *stream;
	struct op *op;
	CUresult result = stream_resolve_capturable(call, s, &stream);

	if (result)
		return result;
	if (f->module->context != stream->context)
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream->capture)
		return capture_kernel(stream, f, shape, params, extra);
	op = op_new(OP_KERNEL, stream->context->device);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	timeline_wait_for_room(op->device);
	op->counted = true;
	op->name = f->name;
	op->duration_ns = f->duration_ns;
	stream_submit(call, stream, op);
	op_unref(op);
	return CUDA_SUCCESS;
}

static CUresult launch(const struct call *call, CUfunction f, const struct shape *shape, CUstream s, void **params,
		       void **extra)
{
	CUresult result = check(f, shape, params, extra);

	if (result)
		return result;
	sim_lock();
	result = submit_kernel(call, f, shape, s, params, extra);
	sim_unlock();
	if (!result)
		clock_spin_until(call->entry_ns + settings()->launch_ns);
	return result;
}

CUresult api_launch(CALL, CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
		    unsigned int by, unsigned int bz, unsigned int shared, CUstream s, void **params, void **extra)
{
	const struct shape shape = { gx, gy, gz, bx, by, bz, shared };

	return launch(call, f, &shape, s, params, extra);
}

CUresult api_launch_ex(CALL, const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
	struct shape shape;

	if (!config || (config->numAttrs && !config->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	shape = (struct shape){ config->gridDimX,  config->gridDimY,  config->gridDimZ,      config->blockDimX,
				config->blockDimY, config->blockDimZ, config->sharedMemBytes };
	return launch(call, f, &shape, config->hStream, params, extra);
}

CUresult api_launch_cooperative(CALL, CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
				unsigned int by, unsigned int bz, unsigned int shared, CUstream s, void **params)
{
	const struct shape shape = { gx, gy, gz, bx, by, bz, shared };

	return launch(call, f, &shape, s, params, NULL);
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
	op = op_new(OP_HOSTFN, stream->context->device);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op->takes_real_time = true;
	op->call = host;
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
