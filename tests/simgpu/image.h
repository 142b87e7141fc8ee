/* SPDX-License-Identifier: BSD-2-Clause */
/* image.h: what a module's image says of itself: the kernels of PTX text, and their parameters. Of any other image nothing is
 * known, and every name is a kernel in either. */
#pragma once

#include "sim.h"

enum { IMAGE_MAX_PARAMETERS = 256 };

struct image_parameter {
	size_t offset, bytes; /* in the buffer of parameters */
};

struct image_kernel {
	char *name;
	struct image_parameter *parameters;
	unsigned parameter_count;
	struct image_kernel *next; /* in the order of the text */
};

struct image {
	struct image_kernel *kernels;
	unsigned kernel_count;
};

struct image *image_read(const void *code); /* NULL: not PTX, or out of memory */
CUresult image_read_file(const char *path, struct image **image, size_t *bytes); /* *image may be NULL */
void image_free(struct image *image);       /* NULL is fine */
const struct image_kernel *image_find(const struct image *image, const char *name); /* NULL: not known */
