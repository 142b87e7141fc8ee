/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver as libgpushim.so finds it: by its name, as every program does. */
#include "driver.h"

#include <dlfcn.h>
#include <stddef.h>

#include "glibc.h"
#include "settings.h"

const bool driver_is_twin = false;

/* The twin records, wherever both are: it sees the callers that we do not. Here it was preloaded as well … */
extern const char gpushim_twin[] __attribute__((weak));
static bool yielded;

/* … and here it was loaded after us, and says so. Calls that were recorded before went to a driver loaded under another name. */
__attribute__((visibility("default"))) void gpushim_yield(void);
__attribute__((visibility("default"))) void gpushim_yield(void)
{
	yielded = true;
	settings.enabled = false;
}

bool driver_start(void)
{
	return !yielded && !gpushim_twin;
}

void driver_open(struct driver *out)
{
	out->handle = glibc_dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (!out->handle)
		out->handle = glibc_dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (!out->handle)
		elf_object_find(&out->object, "libcuda.so.1");
}
