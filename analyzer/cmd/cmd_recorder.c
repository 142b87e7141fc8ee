/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd_recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *recorder_given(void)
{
	const char *path = getenv("GPUSHIM_LIBRARY");

	return path && *path ? path : NULL;
}

bool recorder_find(char out[PATH_MAX])
{
	static const char *const places[] = { "libgpushim.so", "../lib/libgpushim.so" };
	const char *given = recorder_given();
	char self[PATH_MAX], place[PATH_MAX + 32];
	ssize_t n;

	if (given)
		return realpath(given, out) && access(out, R_OK) == 0;
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0)
		return false;
	self[n] = 0;
	*(strrchr(self, '/') + 1) = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(place, sizeof(place), "%s%s", self, places[i]);
		if (realpath(place, out) && access(out, R_OK) == 0)
			return true;
	}
	return false;
}
