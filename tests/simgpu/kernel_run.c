/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel_run.h"

#include "image.h"
#include "kernel_body.h"

#include <stdlib.h>
#include <string.h>

struct kernel_run {
	kernel_body *body;
	struct kernel_body_call call;
	unsigned char parameter[];
};

SIM_EXPORT CUresult simgpuLibrarySetBody(CUlibrary library, kernel_body *body)
{
	CUresult result = CUDA_ERROR_INVALID_HANDLE;

	sim_lock();
	if (slab_holds(&library_slab, library)) {
		library->body = body;
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

CUresult kernel_run_attach(struct op *op, CUfunction f, void **params)
{
	const struct CUlib_st *library = f->module->library;
	const struct image_kernel *kernel;
	size_t bytes;

	if (!library || !library->body)
		return CUDA_SUCCESS;
	kernel = image_find(f->module->image, f->name);
	if (!kernel || !kernel->parameter_count || !params)
		return CUDA_ERROR_INVALID_VALUE;
	bytes = kernel->parameters[0].bytes;
	op->run = malloc(sizeof(*op->run) + bytes);
	if (!op->run)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*op->run = (struct kernel_run){ .body = library->body };
	op->run->call.parameter = memcpy(op->run->parameter, params[0], bytes);
	op->takes_real_time = true;
	op->duration_ns = 0;
	return CUDA_SUCCESS;
}

bool kernel_run_ended(struct op *op, uint64_t now_ns)
{
	struct kernel_body_call *call = &op->run->call;
	uint64_t end_ns;

	call->start_ns = op->start_ns;
	call->now_ns = now_ns;
	end_ns = op->run->body(call);
	if (!end_ns)
		return false;
	op->duration_ns = end_ns > op->start_ns ? end_ns - op->start_ns : 0;
	return true;
}

void kernel_run_free(struct kernel_run *run)
{
	if (run)
		free(run->call.state);
	free(run);
}
