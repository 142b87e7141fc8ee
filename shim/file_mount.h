/* SPDX-License-Identifier: BSD-2-Clause */
/* file_mount.h: on what a file lies, by the number of its mount: the list of mounts says so, and no file system is asked. */
#pragma once

#include <stdint.h>

enum file_place {
	FILE_PLACE_DISK,
	FILE_PLACE_MEMORY,
	FILE_PLACE_NETWORK, /* or FUSE's: network_fs.def */
	FILE_PLACE_UNKNOWN, /* the list has no such mount: it was taken away, is another name space's, or the kernel's own */
};

/* Of an overlay: what is read may come from any of its layers, so one on a network is enough; what is written goes to the upper one. */
struct file_mount {
	enum file_place read, written;
};

/* id: `mnt_id` of /proc/<pid>/fdinfo/<fd>. 0 it is not known: the mount that `path` lies in, as it is spelt. The list is read twice at most.
 * The thread's alone that looks. */
struct file_mount file_mount_find(const char *mountinfo, uint64_t id, const char *path);
