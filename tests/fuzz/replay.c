/* SPDX-License-Identifier: BSD-2-Clause */
/* replay FILE…: a fuzzer's target over files, without libFuzzer, so that every corpus is a test wherever there is a compiler. Says
 * each file's name before it is tried: the last one is the one that failed; and on standard error of how many two readings were compared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

#define INPUT_MAX (1u << 20)

static bool replay(const char *path)
{
	static uint8_t input[INPUT_MAX];
	FILE *file = fopen(path, "rb");
	size_t n;
	uint8_t *exact;

	puts(path);
	fflush(stdout);
	if (!file)
		return false;
	n = fread(input, 1, sizeof(input), file);
	fclose(file);
	exact = malloc(n ? n : 1); /* so that a read beyond the end is seen */
	require(exact != NULL);
	memcpy(exact, input, n);
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	return true;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!replay(argv[i])) {
			perror(argv[i]);
			return 1;
		}
	if (fuzz_compared)
		fprintf(stderr, "%zu compared\n", fuzz_compared);
	return argc < 2;
}
