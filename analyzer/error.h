/* SPDX-License-Identifier: BSD-2-Clause */
/* error.h: a failure with its place. Library code sets one and returns its kind; only cmd_*.c prints it.
 * "setting is returning":  return err_set(e, ERR_FORMAT, file, at, "record of %u bytes, %zu left", …); */
#pragma once

#include <stdint.h>

enum err_kind { /* the values are the program's exit status (CONTRACT: 3 bad input, 4 system) */
	ERR_NONE = 0,
	ERR_USAGE = 2,
	ERR_FORMAT = 3, /* the input is damaged or not what it should be */
	ERR_SYSTEM = 4, /* the machine refused: memory, disk, permission */
};

#define ERR_NO_BYTE UINT64_MAX

struct error {
	enum err_kind kind;
	uint64_t byte;   /* offset in the file, or ERR_NO_BYTE */
	char file[512];  /* as the user named it; "" none */
	char text[256];  /* the fact, no newline */
};

/* Fills *e (unless e is NULL) and returns kind. */
enum err_kind err_set(struct error *e, enum err_kind kind, const char *file, uint64_t byte, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
