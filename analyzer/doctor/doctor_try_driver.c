/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_try_driver.c: NVIDIA's libraries, where the loader finds them for this process, and what the driver says of itself. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_child.h"
#include "doctor_loader.h"
#include "doctor_trials.h"

#define SECONDS 20 /* cuInit takes some where many devices wake up */

/* Where the loader would look for this user's program: where our file has capabilities it keeps off LD_LIBRARY_PATH for us. Those are given up
 * before, for whoever named a folder there may not have them. */
static void *open_library(const struct doctor_driver *d, const char *name)
{
	const char *folders = d->search ? d->search : "";
	char path[PATH_MAX];
	void *handle = NULL;

	for (size_t n; !handle && *folders; folders += n + (folders[n] == ':')) {
		n = strcspn(folders, ":");
		if (n && snprintf(path, sizeof(path), "%.*s/%s", (int)n, folders, name) < (int)sizeof(path))
			handle = doctor_loader->open(path, RTLD_NOW | RTLD_LOCAL);
	}
	return handle ? handle : doctor_loader->open(name, RTLD_NOW | RTLD_LOCAL);
}

static void be_ordinary(const struct doctor_driver *d)
{
	if (d->become_ordinary)
		d->become_ordinary();
	unsetenv("CUDA_INJECTION64_PATH"); /* cuInit would load that tool */
}

static bool path_of(void *handle, char *out, size_t size)
{
	struct link_map *map;
	char real[PATH_MAX];

	if (doctor_loader->info(handle, RTLD_DI_LINKMAP, &map) || !map->l_name)
		return false;
	snprintf(out, size, "%s", realpath(map->l_name, real) ? real : map->l_name);
	return true;
}

static void find_cupti(struct doctor_driver *d)
{
	static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so",
					     "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *handle = open_library(d, names[i]);

		if (handle && path_of(handle, d->cupti, sizeof(d->cupti)))
			return;
	}
}

/* Its own child: cuInit of a driver with a damaged module may never come back, and what was found before is worth having. */
static int ask_driver(void *answer)
{
	struct doctor_driver *d = answer;
	int (*init)(unsigned), (*count)(int *);
	void *handle;

	be_ordinary(d);
	handle = open_library(d, "libcuda.so.1");
	if (!handle)
		return ENOENT;
	*(void **)&init = doctor_loader->symbol(handle, "cuInit");
	*(void **)&count = doctor_loader->symbol(handle, "cuDeviceGetCount");
	if (!init || !count)
		return ENOSYS;
	d->init = init(0);
	if (d->init == 0 && count(&d->devices))
		d->devices = -1;
	return 0;
}

static int load_driver(void *answer)
{
	struct doctor_driver *d = answer;
	int (*version)(int *);
	void *handle;

	if (!doctor_loader)
		return 0;
	d->can_load = true;
	be_ordinary(d);
	handle = open_library(d, "libcuda.so.1");
	if (!handle) {
		const char *why = doctor_loader->error();

		snprintf(d->why, sizeof(d->why), "%s", why ? why : "no reason given");
		return 0;
	}
	if (!path_of(handle, d->path, sizeof(d->path)))
		snprintf(d->path, sizeof(d->path), "libcuda.so.1");
	*(void **)&version = doctor_loader->symbol(handle, "cuDriverGetVersion");
	if (version && version(&d->version))
		d->version = 0;
	return 0;
}

static int load_cupti(void *answer)
{
	if (!doctor_loader)
		return 0;
	be_ordinary(answer);
	find_cupti(answer);
	return 0;
}

void doctor_try_driver(struct doctor_machine *m)
{
	struct doctor_driver *d = &m->driver;
	struct doctor_trial ignored;

	d->search = m->secure ? m->env("LD_LIBRARY_PATH") : NULL;
	d->init = d->devices = -1;
	doctor_child(&m->load, load_driver, d, sizeof(*d), SECONDS);
	if (!m->load.done || !d->path[0])
		return;
	doctor_child(&ignored, ask_driver, d, sizeof(*d), SECONDS);
	doctor_child(&ignored, load_cupti, d, sizeof(*d), SECONDS);
	/* A library may have written anything anywhere: texts end. */
	d->path[sizeof(d->path) - 1] = d->why[sizeof(d->why) - 1] = d->cupti[sizeof(d->cupti) - 1] = 0;
}
