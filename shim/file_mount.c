/* SPDX-License-Identifier: BSD-2-Clause */
#include "file_mount.h"

#include <stdio.h>
#include <string.h>

#include "file_system.h"
#include "mounts.h"

#define LAYERS_MAX 128 /* more than a container's image may have */

static struct mounts mounts;

static struct {
	char options[sizeof(mounts.line)];
	unsigned n;
	struct layer {
		const char *path;
		size_t longest; /* of the mount points that it is below */
		enum file_place place;
		bool upper;
	} layers[LAYERS_MAX];
} overlay;

static enum file_place place_of(const struct mount *m)
{
	return file_system_type_stalls(m->type)      ? FILE_PLACE_NETWORK
	       : file_system_type_is_memory(m->type) ? FILE_PLACE_MEMORY
						     : FILE_PLACE_DISK;
}

/* ---- an overlay's layers ------------------------------------------------------------------------------------------------- */

static void add_layers(char *paths, bool upper)
{
	char *path;

	while ((path = strsep(&paths, ":")) && overlay.n < LAYERS_MAX) {
		mount_unescape(path);
		if (*path == '/')
			overlay.layers[overlay.n++] = (struct layer){ .path = path, .upper = upper };
	}
}

/* "rw,lowerdir=/a:/b,upperdir=/c,workdir=/d"; a newer kernel has "lowerdir+=/a,lowerdir+=/b,datadir+=/e". */
static void find_layers(void)
{
	static const char *const lower[] = { "lowerdir=", "lowerdir+=", "datadir+=" };
	char *rest = overlay.options, *option;

	overlay.n = 0;
	while ((option = strsep(&rest, ","))) {
		for (unsigned i = 0; i < sizeof(lower) / sizeof(lower[0]); i++)
			if (strncmp(option, lower[i], strlen(lower[i])) == 0)
				add_layers(option + strlen(lower[i]), false);
		if (strncmp(option, "upperdir=", strlen("upperdir=")) == 0)
			add_layers(option + strlen("upperdir="), true);
	}
}

/* Layers are spelt as the mounter saw them: in a container there may be no such place, or another one. */
static void place_layers(const char *mountinfo)
{
	struct mount m;

	if (!mounts_open(&mounts, mountinfo))
		return;
	while (mounts_next(&mounts, &m))
		for (struct layer *l = overlay.layers; l < overlay.layers + overlay.n; l++)
			if (mount_has(&m, l->path) && strlen(m.point) >= l->longest) {
				l->longest = strlen(m.point);
				l->place = place_of(&m);
			}
	mounts_close(&mounts);
}

static struct file_mount of_overlay(const char *mountinfo)
{
	struct file_mount is = { FILE_PLACE_DISK, FILE_PLACE_DISK };
	unsigned in_memory = 0;

	find_layers();
	place_layers(mountinfo);
	for (const struct layer *l = overlay.layers; l < overlay.layers + overlay.n; l++) {
		if (l->place == FILE_PLACE_NETWORK)
			is.read = FILE_PLACE_NETWORK;
		in_memory += l->place == FILE_PLACE_MEMORY;
		if (l->upper)
			is.written = l->place;
	}
	if (in_memory && in_memory == overlay.n)
		is.read = FILE_PLACE_MEMORY;
	return is;
}

/* -------------------------------------------------------------------------------------------------------------------------- */

struct file_mount file_mount_find(const char *mountinfo, uint64_t id, const char *path)
{
	enum file_place place = FILE_PLACE_UNKNOWN;
	bool layered = false;
	size_t longest = 0;
	struct mount m;

	if (!mounts_open(&mounts, mountinfo))
		return (struct file_mount){ place, place };
	while (mounts_next(&mounts, &m)) {
		if (id ? m.id != id : !mount_has(&m, path) || strlen(m.point) < longest)
			continue;
		longest = strlen(m.point);
		place = place_of(&m);
		layered = strcmp(m.type, "overlay") == 0;
		snprintf(overlay.options, sizeof(overlay.options), "%s", m.options ? m.options : "");
	}
	mounts_close(&mounts);
	return layered ? of_overlay(mountinfo) : (struct file_mount){ place, place };
}
