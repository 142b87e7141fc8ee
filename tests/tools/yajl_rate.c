/* SPDX-License-Identifier: BSD-2-Clause */
/* yajl_rate FILE: reads a JSON file, gzip or not, by yajl with callbacks that do nothing: what no reader that is built on it can be
 * faster than. Numbers stay text. Says on standard output how many bytes of JSON, and how many elements of objects and arrays, there were. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <yajl/yajl_parse.h>
#include <zlib.h>

#define PIECE (256u << 10)

static uint64_t values;

static int on_null(void *ctx)
{
	(void)ctx;
	return 1;
}

static int on_boolean(void *ctx, int value)
{
	(void)ctx;
	(void)value;
	return 1;
}

static int on_text(void *ctx, const char *at, size_t bytes)
{
	(void)ctx;
	(void)at;
	(void)bytes;
	values++;
	return 1;
}

static int on_string(void *ctx, const unsigned char *at, size_t bytes)
{
	return on_text(ctx, (const char *)at, bytes);
}

static int on_key(void *ctx, const unsigned char *at, size_t bytes)
{
	(void)ctx;
	(void)at;
	(void)bytes;
	return 1;
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_text,
	.yajl_string = on_string,
	.yajl_start_map = on_null,
	.yajl_map_key = on_key,
	.yajl_end_map = on_null,
	.yajl_start_array = on_null,
	.yajl_end_array = on_null,
};

/* The bytes of JSON; UINT64_MAX: it is none, or cannot be read. */
static uint64_t parse(gzFile file, yajl_handle parser)
{
	static unsigned char piece[PIECE];
	uint64_t bytes = 0;
	int n;

	while ((n = gzread(file, piece, PIECE)) > 0) {
		if (yajl_parse(parser, piece, (size_t)n) != yajl_status_ok)
			return UINT64_MAX;
		bytes += (uint64_t)n;
	}
	return n == 0 && yajl_complete_parse(parser) == yajl_status_ok ? bytes : UINT64_MAX;
}

int main(int argc, char *argv[])
{
	gzFile file = argc == 2 ? gzopen(argv[1], "rb") : NULL;
	yajl_handle parser = yajl_alloc(&callbacks, NULL, NULL);
	uint64_t bytes = UINT64_MAX;

	if (file && parser) {
		yajl_config(parser, yajl_dont_validate_strings, 1);
		gzbuffer(file, PIECE);
		bytes = parse(file, parser);
	}
	if (file)
		gzclose(file);
	if (parser)
		yajl_free(parser);
	if (bytes == UINT64_MAX) {
		fprintf(stderr, "yajl_rate: cannot read %s\n", argc == 2 ? argv[1] : "a file without a name");
		return EXIT_FAILURE;
	}
	printf("%llu bytes, %llu values\n", (unsigned long long)bytes, (unsigned long long)values);
	return EXIT_SUCCESS;
}
