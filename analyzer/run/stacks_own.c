/* SPDX-License-Identifier: BSD-2-Clause */
#include "stacks_own.h"

#include <string.h>

#include "tools/text.h"

/* Where Python packages of others are installed, and its standard library. */
static bool is_installed(const char *path)
{
	return strstr(path, "/site-packages/") || strstr(path, "/dist-packages/") || strstr(path, "/lib/python3.");
}

/* "<string>", of python -c, and what was typed are the user's; "<frozen importlib>", "<eval_with_key>.7" and the like nobody's. */
static bool is_generated(const char *path)
{
	return *path == '<' && strcmp(path, "<string>") != 0 && strcmp(path, "<stdin>") != 0 &&
	       strncmp(path, "<ipython", 8) != 0;
}

/* Folders of the system and its vendors. */
static bool is_system(const char *path)
{
	static const char *const folders[] = { "/usr/lib/",       "/lib/",         "/lib64/",
					       "/usr/lib64/",     "/usr/include/", "/usr/local/cuda",
					       "/opt/conda/lib/", "/snap/",        "[" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (strncmp(path, folders[i], strlen(folders[i])) == 0)
			return true;
	return false;
}

/* By name, wherever they are: a program may bring its own. */
static bool is_runtime(const char *path)
{
	static const char *const names[] = { "libcuda.so",    "libcuda-", "libgpushim.so", "libcudart",   "libcublas",
					     "libcudnn",      "libcufft", "libcusparse",   "libcusolver", "libcurand",
					     "libnvrtc",      "libnccl",  "libtorch",      "libc10",      "libpython",
					     "libstdc++",     "libgcc_s", "libc.so",       "libc-",       "libpthread",
					     "libm.so",       "ld-linux", "libffi",        "libgomp",     "libiomp",
					     "libnvToolsExt", "libcupti" };
	const char *base = text_base(path);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(base, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

bool frame_is_own(const struct frame *f)
{
	const struct object_file *o = f->object;

	if (f->python)
		return f->file && *f->file && !is_installed(f->file) && !is_generated(f->file);
	if (!o || (o->flags & GST_OBJECT_VDSO))
		return false;
	if (f->file && is_system(f->file)) /* a template of the system's, inlined */
		return false;
	if (o->flags & GST_OBJECT_PROGRAM)
		return strncmp(text_base(o->file.path), "python", 6) != 0;
	return !is_system(o->file.path) && !is_runtime(o->file.path) && !is_installed(o->file.path);
}
