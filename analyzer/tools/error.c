/* SPDX-License-Identifier: BSD-2-Clause */
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum err_kind err_set(struct error *e, enum err_kind kind, const char *file, uint64_t byte, const char *format, ...)
{
	va_list args;

	if (!e)
		return kind;
	e->kind = kind;
	e->byte = byte;
	snprintf(e->file, sizeof(e->file), "%s", file ? file : "");
	va_start(args, format);
	vsnprintf(e->text, sizeof(e->text), format, args);
	va_end(args);
	return kind;
}

enum err_kind err_cannot_open(struct error *e, const char *file)
{
	return err_set(e, errno == ENOENT || errno == ENOTDIR ? ERR_FORMAT : ERR_SYSTEM, file, ERR_NO_BYTE,
		       "cannot open: %s", strerror(errno));
}

enum err_kind err_no_memory(struct error *e, const char *file)
{
	return err_set(e, ERR_SYSTEM, file, ERR_NO_BYTE, ERR_NO_MEMORY);
}

bool err_is_no_memory(const struct error *e)
{
	return e->kind == ERR_SYSTEM && strcmp(e->text, ERR_NO_MEMORY) == 0;
}
