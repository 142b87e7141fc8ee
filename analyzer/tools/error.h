/* SPDX-License-Identifier: BSD-2-Clause */
/* error.h: a failure with its place. Library code sets one and returns its kind; only cmd_*.c prints it.
 * "setting is returning":  return err_set(e, ERR_FORMAT, file, at, "record of %u bytes, %zu left", …); */
#pragma once

#include <stdbool.h>
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
	uint64_t byte;   /* offset in the file, or ERR_NO_BYTE; above INT64_MAX a table's row, which the text names */
	char file[512];  /* as the user named it; "" none */
	char text[256];  /* the fact, no newline */
};

static inline bool err_has_byte(const struct error *e)
{
	return e->byte <= INT64_MAX;
}

/* Fills *e (unless e is NULL) and returns kind. */
enum err_kind err_set(struct error *e, enum err_kind kind, const char *file, uint64_t byte, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* By errno. What is not there is bad input, like what is there and no trace; anything else is the system's doing. */
enum err_kind err_cannot_open(struct error *e, const char *file);

/* All say it in these words: what the machine refuses otherwise may be passed over, this never. */
#define ERR_NO_MEMORY "out of memory"
enum err_kind err_no_memory(struct error *e, const char *file);
bool err_is_no_memory(const struct error *e);
