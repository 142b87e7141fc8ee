/* SPDX-License-Identifier: BSD-2-Clause */
/* kineto_file.h: for tests of Kineto's importer: the file that it reads, made anew by each. In the traces ' stands for ". */
#pragma once

#include <unistd.h>

#include "import_kineto_parts.h"
#include "tests/unit/import_seen.h"

static char path[] = "/tmp/gpushim-test-kineto-XXXXXX";

static void put(const char *bytes, size_t n)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, n, file), n);
	assert_int_equal(fclose(file), 0);
}

static char *quoted(const char *json)
{
	char *text = strdup(json);

	assert_non_null(text);
	for (char *p = text; *p; p++)
		if (*p == '\'')
			*p = '"';
	return text;
}

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 || close(fd);
}

static int drop_file(void **state)
{
	(void)state;
	return unlink(path);
}

#define HEAD(cat, name) "{'ph':'X','cat':'" cat "','name':'" name "',"
#define LAUNCH(corr)                             \
	HEAD("cuda_runtime", "cudaLaunchKernel") \
	"'pid':9,'tid':5,'ts':1.5,'dur':2.25,'args':{'cbid':211,'correlation':" #corr "}}"
