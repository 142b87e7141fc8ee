/* SPDX-License-Identifier: BSD-2-Clause */
/* kineto_file.h: for tests of Kineto's importer: the file that it reads, made anew by each. In the traces ' stands for ". */
#pragma once

#include "import/import_kineto_parts.h"
#include "tests/unit/file_made.h"
#include "tests/unit/import_seen.h"

static char *quoted(const char *json)
{
	char *text = strdup(json);

	assert_non_null(text);
	for (char *p = text; *p; p++)
		if (*p == '\'')
			*p = '"';
	return text;
}

#define HEAD(cat, name) "{'ph':'X','cat':'" cat "','name':'" name "',"
#define LAUNCH(corr)                             \
	HEAD("cuda_runtime", "cudaLaunchKernel") \
	"'pid':9,'tid':5,'ts':1.5,'dur':2.25,'args':{'cbid':211,'correlation':" #corr "}}"
