/* SPDX-License-Identifier: BSD-2-Clause */
/* errors.h: the names of CUresult, generated from cuda.h. */
#pragma once

struct error_name {
	int code; /* -1: the end */
	const char *name;
};

extern const struct error_name error_names[];
