/* SPDX-License-Identifier: BSD-2-Clause */
/* import_json.h: a JSON file, plain or packed by gzip (by its content), as its tokens one after another: yajl reads them, in memory that does not
 * grow with the file. Bytes are counted in what is unpacked, which damage then says. Texts need not be UTF-8.
 *
 * inf, NaN, control characters and backslashes, as many programs write them, are read (import_mend.h), in texts of up to 128 KiB. A file that
 * stops being JSON otherwise, is cut short, nests deeper than IMPORT_JSON_DEPTH, has a text longer than IMPORT_JSON_TEXT or unpacks to more than any
 * trace would is damaged there; the tokens before it have been told. The bracket that ends an array of events may be missing: Chrome's form has it
 * so, for programs that were killed.
 *
 * Where the reader can put elements of a list together that were read one apart from the other, several threads (pool.h) read them: each
 * takes the next piece of the file, reads the elements in it ahead, and joins them to the others when it is that piece's turn. Where a
 * piece turns out to hold anything else it is read once more, then: so what is told is the same however many threads there are. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/error.h"

#define IMPORT_JSON_DEPTH 512
#define IMPORT_JSON_TEXT ((size_t)64 << 20)

struct import_json_calls { /* false: go no further. What they are given is the reader's, for as long as the call; not NUL-terminated */
	bool (*open)(void *to, bool map, uint64_t byte); /* byte: of the bracket */
	bool (*close)(void *to);
	bool (*key)(void *to, const char *at, size_t bytes);
	bool (*text)(void *to, const char *at, size_t bytes);
	bool (*number)(void *to, const char *at, size_t bytes); /* as it is written */
	bool (*word)(void *to, int word); /* 0 false, 1 true, -1 null */
	void (*mended)(void *to, uint64_t byte); /* what begins there was no JSON, and is told as an empty text, or without what it may not hold; NULL: nobody asks */
};

/* Reading ahead. `aside` is one more reader, told by the same calls, of elements of a list. */
struct import_json_ahead {
	bool (*listed)(const void *to); /* is the innermost open bracket that of such a list? */
	void *(*aside)(void *to);       /* NULL: no memory */
	bool (*begin)(void *aside, const char *at, size_t bytes); /* forget what was read: those in this text come, which lies there until `join` is over. false: no memory */
	bool (*join)(void *to, void *aside); /* what it has read comes now. false: go no further */
	void (*free)(void *aside);
};

/* ahead: NULL one thread reads all. ERR_SYSTEM: the file cannot be read, or there is no memory, or a call said false. Damage is no failure: it goes to
 * *damage, which is not touched otherwise. */
enum err_kind import_json_read(const char *path, const struct import_json_calls *calls, const struct import_json_ahead *ahead,
			       void *to, struct error *damage, struct error *e);
