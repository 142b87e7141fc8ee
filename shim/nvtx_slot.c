/* SPDX-License-Identifier: BSD-2-Clause */
#include "nvtx_slot.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "glibc.h"
#include "nvtx_api.h"
#include "nvtx_text.h"
#include "resolve.h"
#include "settings.h"

#define VARIABLE "NVTX_INJECTION64_PATH"
#define SONAME "libgpushim.so"

static char own_name[PATH_MAX];          /* what names us in the slot */
static char other_name[NVTX_TEXT_BYTES]; /* who has it instead */
static enum gst_nvtx_what slot;

/* A tool that was linked into the program is asked last, so that we would be in its place. Seen where its symbol can be. */
static bool linked_tool(void)
{
	nvtx_function **tool = resolve_real_dlsym(RTLD_DEFAULT, "InitializeInjectionNvtx2_fnptr");

	glibc_dlerror(); /* there hardly ever is one, and the program must find no error of ours */
	return tool && *tool;
}

static bool is_own(const char *name)
{
	const char *slash = strrchr(name, '/');

	return strcmp(name, own_name) == 0 || strcmp(slash ? slash + 1 : name, SONAME) == 0;
}

/* By the SONAME we are found wherever we are preloaded, and a child process without us finds nothing. The twin's is the driver's. */
static bool set_own_name(void)
{
	struct resolve_range object;

	if (!driver_is_twin) {
		strcpy(own_name, SONAME);
		return true;
	}
	object = resolve_range_of((void *)nvtx_slot_take);
	return object.path && object.path[0] && realpath(object.path, own_name);
}

static void taken_by(const char *name)
{
	slot = GST_NVTX_TAKEN;
	strncpy(other_name, name, sizeof(other_name) - 1);
}

void nvtx_slot_take(void)
{
	const char *wanted = getenv("GPUSHIM_NVTX"), *there = getenv(VARIABLE);

	slot = GST_NVTX_OFF;
	if (!settings.enabled || (wanted && strcmp(wanted, "off") == 0))
		return;
	if (!set_own_name() || (there && !is_own(there)))
		taken_by(there ? there : "");
	else if (linked_tool())
		taken_by("the program");
	else if (setenv(VARIABLE, own_name, 1) == 0)
		slot = GST_NVTX_OURS;
}

enum gst_nvtx_what nvtx_slot(void)
{
	return slot;
}

enum gst_nvtx_what nvtx_slot_again(void)
{
	const char *there = slot == GST_NVTX_OURS ? getenv(VARIABLE) : NULL;

	if (there && !is_own(there))
		taken_by(there);
	return slot;
}

const char *nvtx_slot_other(void)
{
	return other_name;
}
