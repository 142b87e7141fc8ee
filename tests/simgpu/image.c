/* SPDX-License-Identifier: BSD-2-Clause */
/* image.c: reads PTX as far as `.entry name ( .param … )`. Text ends with a NUL, as cuModuleLoadData asks for. */
#include "image.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Past blanks and comments. */
static const char *skip_blanks(const char *at)
{
	for (;;) {
		while (isspace((unsigned char)*at))
			at++;
		if (at[0] == '/' && at[1] == '/') {
			at += strcspn(at, "\n");
		} else if (at[0] == '/' && at[1] == '*') {
			const char *end = strstr(at + 2, "*/");

			at = end ? end + 2 : at + strlen(at);
		} else {
			return at;
		}
	}
}

static bool is_ptx(const char *text)
{
	return !strncmp(text, "//", 2) || !strncmp(text, "/*", 2) || isspace((unsigned char)*text) || *text == '.'
		       ? !strncmp(skip_blanks(text), ".version", 8)
		       : false;
}

/* A word: a directive, a name or a number. 0: none here. */
static size_t word_length(const char *at)
{
	size_t n = *at == '.' || *at == '%' ? 1 : 0;

	while (isalnum((unsigned char)at[n]) || at[n] == '_' || at[n] == '$')
		n++;
	return n;
}

static bool is_word(const char *at, const char *word)
{
	size_t n = word_length(at);

	return n == strlen(word) && !strncmp(at, word, n);
}

/* .u32 -> 4; 0: not a type */
static size_t type_bytes(const char *at)
{
	size_t n = word_length(at);
	int bits;

	if (n < 3 || at[0] != '.' || !strchr("busf", at[1]) || !isdigit((unsigned char)at[2]))
		return 0;
	bits = atoi(at + 2);
	return bits % 8 ? 0 : (size_t)bits / 8;
}

struct declaration {
	size_t element, align, count;
};

/* One `.param` declaration, up to `,` or `)`. */
static const char *read_declaration(const char *at, struct declaration *d)
{
	*d = (struct declaration){ 0, 0, 1 };
	for (at = skip_blanks(at); *at && *at != ',' && *at != ')'; at = skip_blanks(at)) {
		size_t n = word_length(at);

		if (is_word(at, ".align")) {
			size_t align = strtoul(skip_blanks(at + n), NULL, 10);

			at = skip_blanks(at + n);
			n = word_length(at);
			if (!d->element || !d->align) /* that of a .ptr says where it points */
				d->align = d->element ? d->align : align;
		} else if (!d->element && type_bytes(at)) {
			d->element = type_bytes(at);
		} else if (*at == '[') {
			d->count = strtoul(skip_blanks(at + 1), NULL, 10);
			n = strcspn(at, "],)") + (at[strcspn(at, "],)")] == ']');
		}
		at += n ? n : 1;
	}
	if (!d->align)
		d->align = d->element ? d->element : 1;
	return at;
}

/* From behind the name; where it ended. */
static const char *read_parameters(const char *at, struct image_kernel *kernel)
{
	struct image_parameter parameters[IMAGE_MAX_PARAMETERS];
	size_t offset = 0;

	at = skip_blanks(at);
	if (*at != '(')
		return at;
	do {
		struct declaration d;

		at = read_declaration(at + 1, &d);
		if (d.element && kernel->parameter_count < IMAGE_MAX_PARAMETERS) {
			offset = (offset + d.align - 1) / d.align * d.align;
			parameters[kernel->parameter_count++] = (struct image_parameter){ offset, d.element * d.count };
			offset += d.element * d.count;
		}
	} while (*at == ',');
	if (kernel->parameter_count)
		kernel->parameters = malloc(kernel->parameter_count * sizeof(*parameters));
	if (kernel->parameters)
		memcpy(kernel->parameters, parameters, kernel->parameter_count * sizeof(*parameters));
	else
		kernel->parameter_count = 0;
	return at;
}

struct image *image_read(const void *code)
{
	const char *at = code;
	struct image *image;
	struct image_kernel **last;

	if (!is_ptx(at))
		return NULL;
	image = calloc(1, sizeof(*image));
	if (!image)
		return NULL;
	last = &image->kernels;
	for (at = skip_blanks(at); *at; at = skip_blanks(at)) {
		size_t n = word_length(at);
		struct image_kernel *kernel;

		if (!is_word(at, ".entry")) {
			at += n ? n : 1;
			continue;
		}
		at = skip_blanks(at + n);
		n = word_length(at);
		kernel = n ? calloc(1, sizeof(*kernel)) : NULL;
		if (!kernel)
			continue;
		kernel->name = strndup(at, n);
		if (!kernel->name) {
			free(kernel);
			break;
		}
		at = read_parameters(at + n, kernel);
		*last = kernel;
		last = &kernel->next;
		image->kernel_count++;
	}
	return image;
}

CUresult image_read_file(const char *path, struct image **image, size_t *bytes)
{
	struct stat about;
	FILE *file;
	char *text;

	*image = NULL;
	if (stat(path, &about) || !S_ISREG(about.st_mode))
		return CUDA_ERROR_FILE_NOT_FOUND;
	*bytes = (size_t)about.st_size;
	file = fopen(path, "rb");
	text = calloc(1, *bytes + 1);
	if (file && text && fread(text, 1, *bytes, file) == *bytes)
		*image = image_read(text);
	if (file)
		fclose(file);
	free(text);
	return file ? CUDA_SUCCESS : CUDA_ERROR_FILE_NOT_FOUND;
}

void image_free(struct image *image)
{
	struct image_kernel *kernel = image ? image->kernels : NULL;

	while (kernel) {
		struct image_kernel *next = kernel->next;

		free(kernel->name);
		free(kernel->parameters);
		free(kernel);
		kernel = next;
	}
	free(image);
}

const struct image_kernel *image_find(const struct image *image, const char *name)
{
	for (const struct image_kernel *kernel = image ? image->kernels : NULL; kernel; kernel = kernel->next)
		if (!strcmp(kernel->name, name))
			return kernel;
	return NULL;
}
