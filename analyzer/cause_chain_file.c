/* SPDX-License-Identifier: BSD-2-Clause */
#include "cause_chain_file.h"

#include <fnmatch.h>
#include <string.h>

#include "text.h"

#define TMPFS_MAGIC 0x01021994

/* statfs(2), linux/magic.h. */
static const struct {
	uint32_t magic;
	enum file_use use;
} file_systems[] = {
#define NETWORK_FS(type, magic) { magic, FILE_NETWORK },
#include "../shim/network_fs.def"
#undef NETWORK_FS
	{ TMPFS_MAGIC, FILE_MEMORY }, { 0x858458f6, FILE_MEMORY }, /* ramfs */
	{ 0x958458f6, FILE_MEMORY },                               /* hugetlbfs */
	{ 0x00009fa0, FILE_KERNEL },                               /* proc */
	{ 0x62656572, FILE_KERNEL },                               /* sysfs */
	{ 0x0027e0eb, FILE_KERNEL },                               /* cgroup */
	{ 0x63677270, FILE_KERNEL },                               /* cgroup2 */
	{ 0x64626720, FILE_KERNEL },                               /* debugfs */
	{ 0x74726163, FILE_KERNEL },                               /* tracefs */
};

/* By path; a library's name may go on with its version. */
static const char *const code[] = { "*.so",
				    "*.so.[0-9]*",
				    "*.py",
				    "*.pyc",
				    "*.pyi",
				    "*.cubin",
				    "*.fatbin",
				    "*.ptx",
				    "*.jar",
				    "*.o",
				    "*.a",
				    "*.bc",
				    "/bin/*",
				    "/sbin/*",
				    "/usr/bin/*",
				    "/usr/sbin/*",
				    "*/bin/python[0-9]*",
				    "/usr/lib/locale/*",
				    "/etc/ld.so.cache" };

enum file_use file_use(const struct host_what *w)
{
	for (size_t i = 0; i < sizeof(file_systems) / sizeof(file_systems[0]); i++) {
		if (file_systems[i].magic != w->fs)
			continue;
		/* A disk's own node lies in a file system in memory; what is read of it does not. */
		if (w->fs == TMPFS_MAGIC && w->file && strncmp(w->file, "/dev/", 5) == 0 &&
		    strncmp(w->file, "/dev/shm/", 9) != 0)
			return FILE_DATA;
		return file_systems[i].use;
	}
	for (size_t i = 0; w->file && i < sizeof(code) / sizeof(code[0]); i++)
		if (fnmatch(code[i], w->file, 0) == 0)
			return FILE_CODE;
	return FILE_DATA;
}

static bool begins(const struct host_what *w, const char *kind)
{
	return w->file && strncmp(w->file, kind, strlen(kind)) == 0;
}

bool end_is_remote(const struct host_what *w)
{
	return begins(w, "tcp") || begins(w, "udp") || begins(w, "vsock") || begins(w, "smc") ||
	       (w->fd_kind == GST_FD_SOCKET && !begins(w, "unix") && !begins(w, "netlink"));
}

bool end_is_local(const struct host_what *w)
{
	return w->fd_kind == GST_FD_PIPE || begins(w, "pipe") || begins(w, "fifo") || begins(w, "unix");
}

bool name_is_compiler(const char *name)
{
	/* A task's name has 15 characters. */
	static const char *const compilers[] = { "nvcc",
						 "ptxas",
						 "cicc",
						 "cudafe++*",
						 "fatbinary",
						 "nvlink",
						 "gcc*",
						 "g++*",
						 "cc",
						 "c++",
						 "cc1*",
						 "collect2",
						 "ld",
						 "ld.*",
						 "lld*",
						 "as",
						 "clang*",
						 "ninja",
						 "hipcc",
						 "triton*",
						 "x86_64-linux-g*",
						 "aarch64-linux-*",
						 "ptxas-*",
						 "lto*",
						 "rustc",
						 "*-linux-gnu-*" };

	for (size_t i = 0; i < sizeof(compilers) / sizeof(compilers[0]); i++)
		if (fnmatch(compilers[i], name, 0) == 0)
			return true;
	return false;
}
