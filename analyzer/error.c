/* SPDX-License-Identifier: BSD-2-Clause */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

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
