/* SPDX-License-Identifier: BSD-2-Clause */
/* A process must not have two CUPTIs at work: one that is loaded is the one. Else the one beside the program's own CUDA libraries, whose
 * version it then has: in their folder (wheels of CUDA 13), in cuda_cupti's (those of 12), in the toolkit's extras. Then the
 * loader's own search, and the toolkit's usual place. */
#include "cupti_find.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "glibc.h"
#include "resolve.h"

static const char *const versions[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so" };
#define VERSIONS (sizeof(versions) / sizeof(*versions))

static const char *const beside[] = { "", "../../cuda_cupti/lib/", "../extras/CUPTI/lib64/",
				      "../../../extras/CUPTI/lib64/" };
#define BESIDE (sizeof(beside) / sizeof(*beside))

static const char *file_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

struct loaded {
	const char *prefix;
	char path[PATH_MAX]; /* "" none */
};

static int find_loaded(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct loaded *l = arg;

	(void)size;
	if (!begins(file_name(info->dlpi_name), l->prefix) || strlen(info->dlpi_name) >= sizeof(l->path))
		return 0;
	strcpy(l->path, info->dlpi_name);
	return 1;
}

static void *open_loaded(void)
{
	struct loaded l = { .prefix = "libcupti.so" };

	return dl_iterate_phdr(find_loaded, &l) ? glibc_dlopen(l.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

static void *open_versions(const char *folder)
{
	char path[PATH_MAX + 64];
	void *handle = NULL;

	for (unsigned i = 0; !handle && i < VERSIONS; i++) {
		snprintf(path, sizeof(path), "%s%s", folder, versions[i]);
		handle = glibc_dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return handle;
}

static void *open_beside(const char *library)
{
	struct loaded l = { .prefix = library };
	char folder[PATH_MAX + 32];
	void *handle = NULL;
	size_t length;

	if (!dl_iterate_phdr(find_loaded, &l) || !strchr(l.path, '/'))
		return NULL;
	length = (size_t)(file_name(l.path) - l.path);
	for (unsigned i = 0; !handle && i < BESIDE; i++) {
		snprintf(folder, sizeof(folder), "%.*s%s", (int)length, l.path, beside[i]);
		handle = open_versions(folder);
	}
	return handle;
}

static void *open_any(void)
{
	void *handle = open_loaded();

	if (!handle)
		handle = open_beside("libcudart.so");
	if (!handle)
		handle = open_beside("libnvrtc.so");
	if (!handle)
		handle = open_versions("");
	if (!handle)
		handle = open_versions("/usr/local/cuda/extras/CUPTI/lib64/");
	return handle;
}

bool cupti_find(struct cupti_api *api)
{
	void *handle = open_any();
	bool whole = handle != NULL;

#define FIND(name, params)                                        \
	*(void **)&api->name = resolve_real_dlsym(handle, #name); \
	whole &= api->name != NULL;
#define FIND_OPTIONAL(name, params) *(void **)&api->name = resolve_real_dlsym(handle, #name);
	if (handle) {
		CUPTI_FUNCTIONS(FIND, FIND_OPTIONAL)
		if (whole)
			resolve_add_tool((void *)api->cuptiSubscribe);
	}
	glibc_dlerror(); /* what was not there must not leave an error for the program to find */
	return whole;
}

void *cupti_find_for(const void *caller, const char *name)
{
	struct resolve_range object = resolve_range_of(caller);
	void *p = resolve_real_dlsym(RTLD_NEXT, name), *handle = NULL;

	if (!p && object.path && object.path[0])
		handle = glibc_dlopen(object.path, RTLD_LAZY | RTLD_NOLOAD);
	if (handle) {
		p = resolve_real_dlsym(handle, name);
		glibc_dlclose(handle);
	}
	if (!p && (handle = open_loaded())) {
		p = resolve_real_dlsym(handle, name);
		glibc_dlclose(handle);
	}
	glibc_dlerror();
	return p;
}
