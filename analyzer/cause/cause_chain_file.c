/* SPDX-License-Identifier: BSD-2-Clause */
#include "cause_chain_file.h"

#include <fnmatch.h>
#include <string.h>

#include "tools/text.h"

#define TMPFS_MAGIC 0x01021994

/* statfs(2), linux/magic.h. */
static const struct {
	uint32_t magic;
	enum file_use use;
} file_systems[] = {
#define NETWORK_FS(type, magic) { magic, FILE_NETWORK },
#include "shim/network_fs.def"
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
				    "*.pyc",
				    "*.cubin",
				    "*.fatbin",
				    "*.ptx",
				    "*.jar",
				    "/bin/*",
				    "/sbin/*",
				    "/usr/bin/*",
				    "/usr/sbin/*",
				    "*/bin/python[0-9]*",
				    "/usr/lib/locale/*",
				    "/etc/ld.so.cache" };

/* Sources and archives are a program's own where programs are installed. Elsewhere they may as well be what a model is trained on. */
static const char *const often_code[] = { "*.py", "*.pyi", "*.o", "*.a", "*.bc" };
static const char *const installed[] = { "/lib/*",
					 "/lib64/*",
					 "/usr/lib*/*",
					 "/usr/share/*",
					 "/usr/local/lib*/*",
					 "/usr/local/cuda*/*",
					 "/opt/*/lib*/*",
					 "*/lib/python[0-9]*/*",
					 "*/site-packages/*",
					 "*/dist-packages/*",
					 "*/torchinductor_*/*" };

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; name && i < n; i++)
		if (fnmatch(list[i], name, 0) == 0)
			return true;
	return false;
}

#define IS_ONE_OF(name, list) is_one_of(name, list, sizeof(list) / sizeof((list)[0]))

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
	if (IS_ONE_OF(w->file, code) || (IS_ONE_OF(w->file, often_code) && IS_ONE_OF(w->file, installed)))
		return FILE_CODE;
	return FILE_DATA;
}

bool file_is_surely_data(const struct host_what *w)
{
	return file_use(w) == FILE_DATA && w->file && *w->file && !IS_ONE_OF(w->file, often_code);
}

static bool begins(const struct host_what *w, const char *kind)
{
	return w->file && strncmp(w->file, kind, strlen(kind)) == 0;
}

/* "tcp:127.0.0.1:80", "udp:[::1]:53": kind, address, port. */
static enum far_end end_of_address(const char *name)
{
	const char *address = strchr(name, ':') + 1;

	address += *address == '[';
	if (strncmp(address, "127.", 4) == 0 || strncmp(address, "::1]", 4) == 0 ||
	    strncmp(address, "::ffff:127.", 11) == 0)
		return END_LOOPBACK;
	/* not connected */
	return strncmp(address, "0.0.0.0:", 8) == 0 || strncmp(address, "::]", 3) == 0 ? END_UNKNOWN : END_REMOTE;
}

enum far_end far_end(const struct host_what *w)
{
	if (begins(w, "tcp:") || begins(w, "udp:") || begins(w, "smc:"))
		return end_of_address(w->file);
	if (begins(w, "vsock"))
		return END_REMOTE;
	if (w->fd_kind == GST_FD_PIPE || begins(w, "pipe") || begins(w, "fifo") || begins(w, "unix"))
		return END_LOCAL;
	if (begins(w, "netlink"))
		return END_NONE;
	return w->fd_kind == GST_FD_SOCKET ? END_UNKNOWN : END_NONE;
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
						 "x86_64-linux-g*",
						 "aarch64-linux-*",
						 "ptxas-*",
						 "lto*",
						 "rustc",
						 "*-linux-gnu-*" };

	return IS_ONE_OF(name, compilers);
}
