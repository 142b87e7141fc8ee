/* SPDX-License-Identifier: BSD-2-Clause */
/* replay FILE…: a fuzzer's target over files, without libFuzzer, so that every corpus is a test wherever there is a compiler. Says
 * each file's name before it is tried: the last one is the one that failed. */
#include <stdio.h>
#include <stdlib.h>

#include "common.h"

#define INPUT_MAX (1u << 20)

static bool replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = malloc(INPUT_MAX);
	size_t n;

	puts(path);
	fflush(stdout);
	if (file && bytes) {
		n = fread(bytes, 1, INPUT_MAX, file);
		bytes = realloc(bytes, n ? n : 1); /* exactly as long as it is, so that a read beyond it is seen */
		require(bytes != NULL);
		LLVMFuzzerTestOneInput(bytes, n);
	}
	free(bytes);
	if (file)
		fclose(file);
	return file != NULL;
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
