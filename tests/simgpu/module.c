/* SPDX-License-Identifier: BSD-2-Clause */
/* module.c: any image is a module, and any name a function in it, except names that begin with missing_.
 * Loading takes host time, as compiling or uploading code does. */
#include "module.h"

#include "call.h"
#include "memory.h"
#include "names.h"
#include "settings.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

enum {
	LOAD_NS = 200000,      /* a module of no size */
	LOAD_BYTES_PER_NS = 1, /* and its bytes on top, where they are known */
	GLOBAL_BYTES = 4096
};

struct slab module_slab = SLAB(struct CUmod_st, 1 << 16);
struct slab function_slab = SLAB(struct CUfunc_st, 1 << 20);

static bool missing(const char *name)
{
	return !strncmp(name, "missing_", 8);
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

static CUresult load(const struct call *call, CUmodule *module, size_t bytes)
{
	struct CUmod_st *made;

	sim_lock();
	made = slab_take(&module_slab);
	if (made) {
		made->context = call->context;
		made->next = call->context->modules;
		call->context->modules = made;
	}
	sim_unlock();
	*module = made;
	clock_spin_until(call->entry_ns + LOAD_NS + bytes / LOAD_BYTES_PER_NS);
	return made ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult api_module_load(CALL, CUmodule *module, const char *path)
{
	struct stat file;

	if (!module || !path)
		return CUDA_ERROR_INVALID_VALUE;
	if (stat(path, &file) || !S_ISREG(file.st_mode))
		return CUDA_ERROR_FILE_NOT_FOUND;
	return load(call, module, (size_t)file.st_size);
}

CUresult api_module_load_data(CALL, CUmodule *module, const void *image)
{
	if (!module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	return load(call, module, 0);
}

CUresult api_module_load_data_ex(CALL, CUmodule *module, const void *image, unsigned int count, CUjit_option *options,
				 void **values)
{
	if (count && (!options || !values))
		return CUDA_ERROR_INVALID_VALUE;
	return api_module_load_data(call, module, image);
}

void module_free(struct CUmod_st *module)
{
	struct CUmod_st **at = &module->context->modules;

	while (*at != module)
		at = &(*at)->next;
	*at = module->next;
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
	if (slab_holds(&module_slab, module)) {
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

static CUresult find_function(CUmodule module, const char *name, CUfunction *function)
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
		found->carveout = -1;
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
	if (!*name || missing(name))
		return CUDA_ERROR_NOT_FOUND;
	sim_lock();
	result = find_function(module, name, function);
	sim_unlock();
	return result;
}

static CUresult find_global(const struct call *call, CUmodule module, const char *name, CUdeviceptr *address)
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
		result = memory_take(call->context, GLOBAL_BYTES, MEMORY_DEVICE, &found->address);
		if (result) {
			free(found);
			return result;
		}
		found->name = interned;
		found->next = module->globals;
		module->globals = found;
	}
	*address = found->address;
	return CUDA_SUCCESS;
}

CUresult api_module_global(CALL, CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
	CUdeviceptr found;
	CUresult result;

	if (!name || (!address && !bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (!*name || missing(name))
		return CUDA_ERROR_NOT_FOUND;
	sim_lock();
	result = find_global(call, module, name, &found);
	sim_unlock();
	if (result)
		return result;
	if (address)
		*address = found;
	if (bytes)
		*bytes = GLOBAL_BYTES;
	return CUDA_SUCCESS;
}
