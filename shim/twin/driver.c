/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver as the twin finds it. Its bare name would find the twin, so it is loaded by its path, looked for where the loader would
 * have looked: GPUSHIM_CUDA, LD_LIBRARY_PATH as it was at the start, the loader's cache, the standard folders. Not in any RPATH. */
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "glibc.h"
#include "loader_cache.h"
#include "resolve.h"
#include "settings.h"

#define NAME "libcuda.so.1"
#define PATH_BYTES 4096

const bool driver_is_twin = true;

/* What tells another copy of us from a driver. */
extern const char gpushim_twin[];
__attribute__((visibility("default"))) const char gpushim_twin[] = GPUSHIM_VERSION;

extern void gpushim_yield(void) __attribute__((weak)); /* libgpushim.so's, if it is loaded as well */

static const char *const standard[] = {
#if defined(__x86_64__)
	"/usr/lib/x86_64-linux-gnu",
	"/lib/x86_64-linux-gnu",
#else
	"/usr/lib/aarch64-linux-gnu",
	"/lib/aarch64-linux-gnu",
#endif
	"/usr/lib64",
	"/lib64",
	"/usr/lib",
	"/lib",
	"/usr/lib/wsl/lib",
	"/run/opengl-driver/lib",
};

static char given[PATH_BYTES], library_path[4 * PATH_BYTES]; /* copies: the program may change its environment */

static void keep(char *out, size_t size, const char *variable)
{
	const char *value = getenv(variable);

	if (value && strlen(value) < size)
		strcpy(out, value);
}

/* Some programs open libcuda.so, the name for developers. Our RPATH, which the loader looks at before anything else for what we open,
 * leads to the link of that name beside us; and from then on that name means us to the loader, whoever asks. */
static void take_short_name(void)
{
	glibc_dlopen("libcuda.so", RTLD_LAZY | RTLD_NOLOAD);
	glibc_dlerror();
}

bool driver_start(void)
{
	take_short_name();
	keep(given, sizeof(given), "GPUSHIM_CUDA");
	keep(library_path, sizeof(library_path), "LD_LIBRARY_PATH");
	if (gpushim_yield)
		gpushim_yield();
	return true;
}

static void *try_path(const char *path)
{
	void *handle = glibc_dlopen(path, RTLD_LAZY | RTLD_LOCAL);

	/* Ourselves, a copy of us, or no driver: left loaded, which does no harm. */
	if (handle && (resolve_real_dlsym(handle, "gpushim_twin") || !resolve_real_dlsym(handle, "cuInit")))
		return NULL;
	if (handle)
		settings_log("twin: the driver is %s", path);
	return handle;
}

static void *try_folder(const char *folder, size_t length)
{
	char path[PATH_BYTES];

	if (!length) /* an empty entry is the current folder, to the loader */
		folder = ".", length = 1;
	if (length + sizeof("/" NAME) > sizeof(path))
		return NULL;
	snprintf(path, sizeof(path), "%.*s/" NAME, (int)length, folder);
	return try_path(path);
}

static void *try_library_path(void)
{
	void *handle = NULL;

	for (const char *at = library_path; *at && !handle;) {
		size_t n = strcspn(at, ":;");

		handle = try_folder(at, n);
		at += n + (at[n] != 0);
	}
	return handle;
}

static void *search(void)
{
	void *handle;

	if (*given) /* this one or none: whoever names it means it */
		return try_path(given);
	handle = try_library_path();
	if (!handle)
		handle = loader_cache_find(NAME, try_path);
	for (size_t i = 0; i < sizeof(standard) / sizeof(*standard) && !handle; i++)
		handle = try_folder(standard[i], strlen(standard[i]));
	if (!handle)
		settings_log("twin: found no driver; GPUSHIM_CUDA=/path/to/" NAME " names one");
	return handle;
}

void driver_open(struct driver *out)
{
	out->handle = search();
}
