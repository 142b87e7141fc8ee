/* SPDX-License-Identifier: BSD-2-Clause */
/* symbols.h: addresses in mapped objects -> function, file, line. Offline: the files that the program had mapped, or their separate
 * debug files, are read here and now, and only where they are still the same (by build-id; without one by size and time).
 *
 * ELF and DWARF are untrusted bytes that a large library of others reads: that happens in a forked child with bounded memory and time.
 * Where the child dies of a file, that file has no symbols and the answer says so. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/arena.h"
#include "tools/error.h"

#define SYMBOLS_BUILD_ID 32 /* bytes; 20 are usual; of a longer one the first */
#define SYMBOLS_INLINED 64  /* functions inlined into each other, at most */
#define SYMBOLS_TEXT 4000   /* longer names are cut */

enum symbols_state {
	SYMBOLS_UNASKED,    /* no symbols were looked for */
	SYMBOLS_FOUND,      /* the file is the one that was mapped; it may still know nothing of an address */
	SYMBOLS_MISSING,    /* no such file here */
	SYMBOLS_CHANGED,    /* the file there now is another one: nothing of it is used */
	SYMBOLS_UNSURE,     /* it may be another one: there is nothing to tell by */
	SYMBOLS_UNREADABLE, /* no object, or it cannot be opened */
	SYMBOLS_FAILED,     /* reading it took too much time or memory, or ended the reader */
	SYMBOLS_LEFT,       /* not read: too many others had failed like that */
};

struct symbol_object {
	const char *path;
	uint8_t build_id[SYMBOLS_BUILD_ID];
	uint32_t n_build_id; /* bytes, 0: it has none */
	/* of the file that was mapped, 0 not known; they count where there is no build-id */
	uint64_t file_bytes, file_mtime_ns;
	/* the answer */
	enum symbols_state state;
	bool dwarf; /* lines and inlined functions were to be had */
};

struct symbol_place {         /* a function that the address is in; several where they were inlined */
	const char *function; /* as people write it; "" not known */
	const char *mangled;  /* NULL: function is the symbol's own name */
	const char *file;     /* NULL not known */
	uint32_t line;        /* 0 not known */
	uint64_t offset;      /* from the symbol's begin, where no line is known */
	bool inlined;         /* into the next */
};

struct symbol_query {
	uint32_t object;  /* index */
	uint64_t address; /* as linked: the mapped one less the load bias */
	/* the answer, innermost first; n_places 0: not known */
	const struct symbol_place *places;
	uint32_t n_places;
};

struct symbol_options {
	/* NULL, or: looked through first, as /usr/lib/debug is: FOLDER/.build-id/ab/cdef….debug, FOLDER/…/lib.so.debug */
	const char *folder;
	bool debuginfod; /* ask the servers of DEBUGINFOD_URLS */
};

/* Fills in the answers; texts live in the arena. queries are sorted by object. Only a lack of memory, or of processes, is an error. */
enum err_kind symbols_resolve(struct symbol_object *objects, size_t n_objects, struct symbol_query *queries,
			      size_t n_queries, const struct symbol_options *options, struct arena *arena,
			      struct error *e);

#define SYMBOLS_HEX (2 * SYMBOLS_BUILD_ID + 1)
/* Its build-id as people write it, "" none. */
const char *symbols_hex(char hex[SYMBOLS_HEX], const struct symbol_object *o);

/* "was changed since": why an object's functions have no names; NULL where there is nothing to say. */
const char *symbols_trouble(enum symbols_state state);
