/* SPDX-License-Identifier: BSD-2-Clause */
/* client_deepbind.c deep|plain linked|dlsym|short|lookup: loads deepbind_plugin.so from its own folder, with RTLD_DEEPBIND or without, and has
 * it work by that route. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char path[PATH_MAX + 32];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
	int (*work)(const char *route);
	void *plugin;

	if (argc != 3 || n < 0) {
		fprintf(stderr, "usage: client_deepbind deep|plain linked|dlsym|short|lookup\n");
		return 2;
	}
	path[n] = 0;
	strcpy(strrchr(path, '/'), "/deepbind_plugin.so");
	plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL | (strcmp(argv[1], "deep") == 0 ? RTLD_DEEPBIND : 0));
	work = plugin ? (int (*)(const char *))dlsym(plugin, "plugin_work") : NULL;
	if (!work) {
		fprintf(stderr, "%s\n", dlerror());
		return 3;
	}
	return work(argv[2]);
}
