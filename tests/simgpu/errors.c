/* SPDX-License-Identifier: BSD-2-Clause */
#include "errors.h"

#include "call.h"

static const struct error_name strings[] = {
#define ERROR(number, string) { number, string },
#include "errors.def"
	{ -1, NULL }
};

static const char *find(const struct error_name *table, int code)
{
	for (; table->name; table++)
		if (table->code == code)
			return table->name;
	return NULL;
}

CUresult api_error_name(CALL, CUresult error, const char **text)
{
	if (!text)
		return CUDA_ERROR_INVALID_VALUE;
	*text = find(error_names, (int)error);
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult api_error_string(CALL, CUresult error, const char **text)
{
	if (!text)
		return CUDA_ERROR_INVALID_VALUE;
	*text = find(strings, (int)error);
	if (!*text)
		*text = find(error_names, (int)error);
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
