/* SPDX-License-Identifier: BSD-2-Clause */
/* module.c: any image is a module, and any name a function in it, except names that begin with missing_.
 * Only of PTX is it known which functions there are, for who wants a list. Loading takes host time, as compiling or uploading
 * code does. */
#include "module.h"

#include "call.h"
#include "image.h"
#include "jit_options.h"
#include "memory.h"
#include "names.h"
#include "settings.h"

#include <ctype.h>
#include <string.h>

enum {
	LOAD_NS = 200000,      /* a module of no size */
	LOAD_BYTES_PER_NS = 1, /* and its bytes on top, where they are known */
	GLOBAL_BYTES = 4096
};

struct slab module_slab = SLAB(struct CUmod_st, 1 << 16);
struct slab function_slab = SLAB(struct CUfunc_st, 1 << 20);

bool module_name_missing(const char *name)
{
	return !*name || !strncmp(name, "missing_", 8);
}

/* A function named x__250us takes 250 us. */
static uint64_t duration_ns(const char *name)
{
	const char *digits = NULL, *end;
	uint64_t us = 0;

	for (const char *at = name; (at = strstr(at, "__")); at++)
		digits = at + 2;
	if (!digits || !isdigit((unsigned char)*digits))
		return settings()->kernel_ns;
	for (end = digits; isdigit((unsigned char)*end) && us < 1000000000; end++)
		us = us * 10 + (uint64_t)(*end - '0');
	return strcmp(end, "us") ? settings()->kernel_ns : us * NSEC_PER_USEC;
}

CUmodule module_new(CUcontext context, struct image *image)
{
	CUmodule made = slab_take(&module_slab);

	if (!made)
		return NULL;
	made->context = context;
	made->image = image;
	made->next = context->modules;
	context->modules = made;
	return made;
}

void module_load_takes(uint64_t entry_ns, size_t bytes)
{
	clock_spin_until(entry_ns + LOAD_NS + bytes / LOAD_BYTES_PER_NS);
}

static CUresult load(const struct call *call, CUmodule *module, struct image *image, size_t bytes)
{
	CUmodule made;

	sim_lock();
	made = module_new(call->context, image);
	sim_unlock();
	if (!made)
		image_free(image);
	*module = made;
	module_load_takes(call->entry_ns, bytes);
	return made ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult api_module_load(CALL, CUmodule *module, const char *path)
{
	struct image *image;
	size_t bytes;
	CUresult result;

	if (!module || !path)
		return CUDA_ERROR_INVALID_VALUE;
	result = image_read_file(path, &image, &bytes);
	return result ? result : load(call, module, image, bytes);
}

CUresult api_module_load_data(CALL, CUmodule *module, const void *image)
{
	if (!module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	return load(call, module, image_read(image), 0);
}

CUresult api_module_load_data_ex(CALL, CUmodule *module, const void *image, unsigned int count, CUjit_option *options,
				 void **values)
{
	CUresult result = jit_options_answer(count, options, values);

	return result ? result : api_module_load_data(call, module, image);
}

void module_free(struct CUmod_st *module)
{
	struct CUmod_st **at = &module->context->modules;

	while (*at != module)
		at = &(*at)->next;
	*at = module->next;
	if (module->library)
		library_forget_module(module);
	else
		image_free(module->image);
	while (module->functions) {
		struct CUfunc_st *function = module->functions;

		module->functions = function->next;
		slab_give(&function_slab, function);
	}
	while (module->globals) {
		struct module_global *global = module->globals;

		module->globals = global->next;
		memory_release(global->address);
		free(global);
	}
	slab_give(&module_slab, module);
}

CUresult api_module_unload(CALL, CUmodule module)
{
	CUresult result = CUDA_ERROR_INVALID_HANDLE;

	sim_lock();
	if (slab_holds(&module_slab, module) && !module->library) { /* a library's goes with the library */
		module_free(module);
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

CUresult api_module_loading_mode(CALL, CUmoduleLoadingMode *mode)
{
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

CUresult module_find_function(CUmodule module, const char *name, CUfunction *function)
{
	const char *interned;
	struct CUfunc_st *found;

	if (!slab_holds(&module_slab, module))
		return CUDA_ERROR_INVALID_HANDLE;
	interned = name_intern(name);
	if (!interned)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (found = module->functions; found; found = found->next)
		if (found->name == interned)
			break;
	if (!found) {
		found = slab_take(&function_slab);
		if (!found)
			return CUDA_ERROR_OUT_OF_MEMORY;
		found->module = module;
		found->name = interned;
		found->duration_ns = duration_ns(name);
		found->own.carveout = -1;
		found->settings = &found->own;
		found->next = module->functions;
		module->functions = found;
	}
	*function = found;
	return CUDA_SUCCESS;
}

CUresult api_module_function(CALL, CUfunction *function, CUmodule module, const char *name)
{
	CUresult result;

	if (!function || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (module_name_missing(name))
		return CUDA_ERROR_NOT_FOUND;
	sim_lock();
	result = module_find_function(module, name, function);
	sim_unlock();
	return result;
}

CUresult module_find_global(CUmodule module, const char *name, CUdeviceptr *address, size_t *bytes)
{
	const char *interned;
	struct module_global *found;
	CUresult result;

	if (!slab_holds(&module_slab, module))
		return CUDA_ERROR_INVALID_HANDLE;
	interned = name_intern(name);
	for (found = module->globals; found; found = found->next)
		if (found->name == interned)
			break;
	if (!found) {
		found = calloc(1, sizeof(*found));
		if (!found)
			return CUDA_ERROR_OUT_OF_MEMORY;
		result = memory_take(module->context, GLOBAL_BYTES, MEMORY_DEVICE, &found->address);
		if (result) {
			free(found);
			return result;
		}
		found->name = interned;
		found->next = module->globals;
		module->globals = found;
	}
	if (address)
		*address = found->address;
	if (bytes)
		*bytes = GLOBAL_BYTES;
	return CUDA_SUCCESS;
}

CUresult api_module_global(CALL, CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
	CUresult result;

	if (!name || (!address && !bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (module_name_missing(name))
		return CUDA_ERROR_NOT_FOUND;
	sim_lock();
	result = module_find_global(module, name, address, bytes);
	sim_unlock();
	return result;
}

CUresult api_module_function_count(CALL, unsigned int *count, CUmodule module)
{
	CUresult result = CUDA_ERROR_INVALID_HANDLE;

	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (slab_holds(&module_slab, module)) {
		*count = module->image ? module->image->kernel_count : 0;
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

CUresult api_module_functions(CALL, CUfunction *functions, unsigned int room, CUmodule module)
{
	CUresult result = CUDA_SUCCESS;

	if (!functions || !room)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (!slab_holds(&module_slab, module)) {
		result = CUDA_ERROR_INVALID_HANDLE;
	} else if (module->image) {
		const struct image_kernel *kernel = module->image->kernels;

		for (unsigned i = 0; i < room && kernel && !result; i++, kernel = kernel->next)
			result = module_find_function(module, kernel->name, &functions[i]);
	}
	sim_unlock();
	return result;
}
