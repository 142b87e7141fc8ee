/* SPDX-License-Identifier: BSD-2-Clause */
/* library.c: libraries and kernels, which belong to no context. In each context that uses one the library is a module, and
 * each of its kernels a function of that module. */
#include "call.h"
#include "context.h"
#include "device.h"
#include "function.h"
#include "image.h"
#include "jit_options.h"
#include "module.h"
#include "names.h"

struct slab library_slab = SLAB(struct CUlib_st, 1 << 16);
struct slab kernel_slab = SLAB(struct CUkern_st, 1 << 18);

static CUresult load(const struct call *call, CUlibrary *library, struct image *image, size_t bytes)
{
	CUlibrary made;

	sim_lock();
	made = slab_take(&library_slab);
	if (made)
		made->image = image;
	sim_unlock();
	if (!made)
		image_free(image);
	*library = made;
	module_load_takes(call->entry_ns, bytes);
	return made ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult check_options(unsigned count, const CUlibraryOption *options, void **values)
{
	if (count && !options)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++)
		if ((unsigned)options[i] >= CU_LIBRARY_NUM_OPTIONS)
			return CUDA_ERROR_INVALID_VALUE;
	(void)values; /* both options take none that matters here */
	return CUDA_SUCCESS;
}

CUresult api_library_load_data(CALL, CUlibrary *library, const void *code, CUjit_option *jit, void **jit_values,
			       unsigned int jit_count, CUlibraryOption *options, void **values, unsigned int count)
{
	CUresult result = check_options(count, options, values);

	if (!library || !code)
		return CUDA_ERROR_INVALID_VALUE;
	if (!result)
		result = jit_options_answer(jit_count, jit, jit_values);
	return result ? result : load(call, library, image_read(code), 0);
}

CUresult api_library_load_file(CALL, CUlibrary *library, const char *path, CUjit_option *jit, void **jit_values,
			       unsigned int jit_count, CUlibraryOption *options, void **values, unsigned int count)
{
	CUresult result = check_options(count, options, values);
	struct image *image;
	size_t bytes;

	if (!library || !path)
		return CUDA_ERROR_INVALID_VALUE;
	if (!result)
		result = jit_options_answer(jit_count, jit, jit_values);
	if (!result)
		result = image_read_file(path, &image, &bytes);
	return result ? result : load(call, library, image, bytes);
}

void library_forget_module(CUmodule module)
{
	struct CUmod_st **at = &module->library->modules;

	while (*at != module)
		at = &(*at)->sibling;
	*at = module->sibling;
}

CUmodule library_module(CUlibrary library, CUcontext context)
{
	CUmodule module;

	for (module = library->modules; module; module = module->sibling)
		if (module->context == context)
			return module;
	module = module_new(context, library->image);
	if (!module)
		return NULL;
	module->library = library;
	module->sibling = library->modules;
	library->modules = module;
	return module;
}

CUresult api_library_unload(CALL, CUlibrary library)
{
	CUresult result = CUDA_ERROR_INVALID_HANDLE;

	sim_lock();
	if (slab_holds(&library_slab, library)) {
		while (library->modules)
			module_free(library->modules);
		while (library->kernels) {
			CUkernel kernel = library->kernels;

			library->kernels = kernel->next;
			slab_give(&kernel_slab, kernel);
		}
		image_free(library->image);
		slab_give(&library_slab, library);
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

/* ---- kernels --------------------------------------------------------------------------------------------- */

static CUresult find_kernel(CUlibrary library, const char *name, CUkernel *kernel)
{
	const char *interned = name_intern(name);
	CUkernel found;

	if (!interned)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (found = library->kernels; found; found = found->next)
		if (found->name == interned)
			break;
	if (!found) {
		found = slab_take(&kernel_slab);
		if (!found)
			return CUDA_ERROR_OUT_OF_MEMORY;
		found->library = library;
		found->name = interned;
		for (int i = 0; i < SIM_MAX_DEVICES; i++)
			found->settings[i].carveout = -1;
		found->next = library->kernels;
		library->kernels = found;
	}
	*kernel = found;
	return CUDA_SUCCESS;
}

CUresult api_library_kernel(CALL, CUkernel *kernel, CUlibrary library, const char *name)
{
	CUresult result = CUDA_ERROR_INVALID_HANDLE;

	if (!kernel || !name)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (slab_holds(&library_slab, library))
		result = module_name_missing(name) ? CUDA_ERROR_NOT_FOUND : find_kernel(library, name, kernel);
	sim_unlock();
	return result;
}

CUresult api_library_kernel_count(CALL, unsigned int *count, CUlibrary library)
{
	CUresult result = CUDA_ERROR_INVALID_HANDLE;

	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (slab_holds(&library_slab, library)) {
		*count = library->image ? library->image->kernel_count : 0;
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

CUresult api_library_kernels(CALL, CUkernel *kernels, unsigned int room, CUlibrary library)
{
	CUresult result = CUDA_SUCCESS;

	if (!kernels || !room)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (!slab_holds(&library_slab, library)) {
		result = CUDA_ERROR_INVALID_HANDLE;
	} else if (library->image) {
		const struct image_kernel *kernel = library->image->kernels;

		for (unsigned i = 0; i < room && kernel && !result; i++, kernel = kernel->next)
			result = find_kernel(library, kernel->name, &kernels[i]);
	}
	sim_unlock();
	return result;
}

CUfunction function_in(CUfunction handle, CUcontext context)
{
	CUkernel kernel = (CUkernel)handle;
	CUfunction function;
	CUmodule module;

	if (slab_holds(&function_slab, handle))
		return handle;
	if (!context || !slab_holds(&kernel_slab, kernel))
		return NULL;
	module = library_module(kernel->library, context);
	if (!module || module_find_function(module, kernel->name, &function))
		return NULL;
	function->settings = &kernel->settings[context->device];
	return function;
}

CUresult api_kernel_function(CALL, CUfunction *function, CUkernel kernel)
{
	CUresult result = CUDA_ERROR_INVALID_HANDLE;

	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (slab_holds(&kernel_slab, kernel)) {
		*function = function_in((CUfunction)kernel, call->context);
		result = *function ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	sim_unlock();
	return result;
}

/* One getter, whatever it reads. */
#define KERNEL_GETTER(noun, type, expression)                          \
	CUresult api_kernel_##noun(CALL, type *value, CUkernel kernel) \
	{                                                              \
		CUresult result = CUDA_ERROR_INVALID_HANDLE;           \
                                                                       \
		if (!value)                                            \
			return CUDA_ERROR_INVALID_VALUE;               \
		sim_lock();                                            \
		if (slab_holds(&kernel_slab, kernel)) {                \
			*value = expression;                           \
			result = CUDA_SUCCESS;                         \
		}                                                      \
		sim_unlock();                                          \
		return result;                                         \
	}
KERNEL_GETTER(library, CUlibrary, kernel->library)
KERNEL_GETTER(name, const char *, kernel->name)

static CUresult check_kernel(CUkernel kernel, CUdevice dev)
{
	if (!slab_holds(&kernel_slab, kernel))
		return CUDA_ERROR_INVALID_HANDLE;
	return device_exists(dev) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult api_kernel_attribute(CALL, int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice dev)
{
	CUresult result;

	sim_lock();
	result = check_kernel(kernel, dev);
	if (!result)
		result = function_read_attribute(&kernel->settings[dev], attribute, value);
	sim_unlock();
	return result;
}

CUresult api_kernel_set_attribute(CALL, CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice dev)
{
	CUresult result;

	sim_lock();
	result = check_kernel(kernel, dev);
	if (!result)
		result = function_write_attribute(&kernel->settings[dev], attribute, value);
	sim_unlock();
	return result;
}

CUresult api_kernel_set_cache_config(CALL, CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
	CUresult result;

	if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = check_kernel(kernel, dev);
	sim_unlock();
	return result;
}

CUresult api_kernel_parameter(CALL, CUkernel kernel, size_t index, size_t *offset, size_t *bytes)
{
	CUresult result = CUDA_ERROR_INVALID_HANDLE;

	sim_lock();
	if (slab_holds(&kernel_slab, kernel))
		result = function_parameter(kernel->library->image, kernel->name, index, offset, bytes);
	sim_unlock();
	return result;
}

/* ---- what a library has in a context --------------------------------------------------------------------- */

CUresult api_library_module(CALL, CUmodule *module, CUlibrary library)
{
	CUresult result = CUDA_ERROR_INVALID_HANDLE;

	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (slab_holds(&library_slab, library)) {
		*module = library_module(library, call->context);
		result = *module ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	sim_unlock();
	return result;
}

CUresult api_library_global(CALL, CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
	CUresult result = CUDA_ERROR_INVALID_HANDLE;
	CUmodule module;

	if (!name || (!address && !bytes))
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (slab_holds(&library_slab, library)) {
		module = library_module(library, call->context);
		result = module_name_missing(name) ? CUDA_ERROR_NOT_FOUND
			 : module                  ? module_find_global(module, name, address, bytes)
						   : CUDA_ERROR_OUT_OF_MEMORY;
	}
	sim_unlock();
	return result;
}

/* No image has managed variables, nor functions that run on host and device alike. */
static CUresult not_found(CUlibrary library, const void *where, const char *name)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (!name || !where)
		return result;
	sim_lock();
	result = slab_holds(&library_slab, library) ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_HANDLE;
	sim_unlock();
	return result;
}

CUresult api_library_managed(CALL, CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
	return not_found(library, address ? (void *)address : bytes, name);
}

CUresult api_library_unified_function(CALL, void **function, CUlibrary library, const char *name)
{
	return not_found(library, function, name);
}
