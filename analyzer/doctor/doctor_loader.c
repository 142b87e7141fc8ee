/* SPDX-License-Identifier: BSD-2-Clause */
#include "doctor_loader.h"

#include <dlfcn.h>

static void *symbol(void *handle, const char *name)
{
	return dlsym(handle, name);
}

static int info(void *handle, int request, void *answer)
{
	return dlinfo(handle, request, answer);
}

static const struct doctor_loader libc = { dlopen, symbol, info, dlerror };

const struct doctor_loader *const doctor_loader = &libc;
