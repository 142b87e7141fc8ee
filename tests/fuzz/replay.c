/* SPDX-License-Identifier: BSD-2-Clause */
/* replay FILE…: a fuzzer's target over files, without libFuzzer, so that every corpus is a test wherever there is a compiler. Says
 * each file's name before it is tried: the last one is the one that failed. */
#include <stdio.h>
#include <stdlib.h>

#include "common.h"

static bool replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = NULL;
	size_t n = 0, room = 0, got;

	puts(path);
	fflush(stdout);
	if (!file)
		return false;
	do {
		if (n == room && !(bytes = realloc(bytes, room = room * 2 + 4096)))
			abort();
		got = fread(bytes + n, 1, room - n, file);
		n += got;
	} while (got);
	fclose(file);
	LLVMFuzzerTestOneInput(bytes, n);
	free(bytes);
	return true;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!replay(argv[i])) {
			perror(argv[i]);
			return 1;
		}
	return argc < 2;
}
