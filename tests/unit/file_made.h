/* SPDX-License-Identifier: BSD-2-Clause */
/* file_made.h: a file for a group of tests, which each of them writes anew. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[] = "/tmp/gpushim-test-XXXXXX";

static void put(const void *bytes, size_t n)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, n, file), n);
	assert_int_equal(fclose(file), 0);
}

/* The group's setup, … */
static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 || close(fd);
}

/* … and its teardown. */
static int drop_file(void **state)
{
	(void)state;
	return unlink(path);
}
