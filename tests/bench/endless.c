/* SPDX-License-Identifier: BSD-2-Clause */
/* endless MILLIONS: so many launches on the driver that does nothing, a wait after every thousand. After the first million and after the last
 * it says what the process holds: anonymous memory (kB), all address space (kB), mappings. */
#include "idle_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long status_kb(const char *name)
{
	char line[256];
	unsigned long kb = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0)
			kb = strtoul(line + strlen(name) + 1, NULL, 10);
	if (f)
		fclose(f);
	return kb;
}

static unsigned mappings(void)
{
	char line[4096];
	unsigned n = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f))
		n += strchr(line, '\n') != NULL;
	if (f)
		fclose(f);
	return n;
}

static void say(void)
{
	printf("%lu %lu %u\n", status_kb("RssAnon"), status_kb("VmSize"), mappings());
}

int main(int argc, char **argv)
{
	long millions = argc > 1 ? strtol(argv[1], NULL, 10) : 10;
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	__typeof__(cuLaunchKernel) *launch = library ? dlsym(library, "cuLaunchKernel") : NULL;
	__typeof__(cuStreamSynchronize) *wait = library ? dlsym(library, "cuStreamSynchronize") : NULL;

	if (!launch || !wait)
		return 1;
	say(); /* and whatever printing needs is there */
	for (long m = 1; m <= millions; m++) {
		for (int i = 0; i < 1000000; i++) {
			launch(ANY, 64, 1, 1, 256, 1, 1, 0, ANY, NULL, NULL);
			if (i % 1000 == 999)
				wait(ANY);
		}
		if (m == 1 || m == millions)
			say();
	}
	return 0;
}
