/* SPDX-License-Identifier: BSD-2-Clause */
/* import_yajl.h: JSON that comes piece by piece -> its tokens (import_json.h), by yajl. Of a text of its own, or of elements of a list that stands in
 * another one. */
#pragma once

#include "import_json.h"

enum import_yajl_end {
	IMPORT_YAJL_MORE,      /* all of it was read */
	IMPORT_YAJL_DAMAGED,   /* import_yajl_damage says how */
	IMPORT_YAJL_NO_MEMORY, /* or a call said false */
	IMPORT_YAJL_LEFT,      /* the list that it is of has ended, or it is nested deeper than elements of any list may be */
};

struct import_yajl;

/* listed: what comes first is behind an element of a list. NULL: no memory. */
struct import_yajl *import_yajl_new(const struct import_json_calls *calls, void *to, bool listed);
void import_yajl_free(struct import_yajl *y);

/* The next n bytes, the first of which is the file's byte `base`. Nothing can be read once the end was another than MORE. */
enum import_yajl_end import_yajl_feed(struct import_yajl *y, const char *at, size_t n, uint64_t base);

/* Behind DAMAGED, of a text of its own: at[n] holds what was fed last from *from on. What it stumbled over is made JSON in place, if it is one of
 * what import_mend.h knows, and MORE: to be fed again, from *from on. DAMAGED: it is none. */
enum import_yajl_end import_yajl_mend(struct import_yajl *y, char *at, size_t n, size_t *from);

/* Of the bytes that were fed last. */
bool import_yajl_told(const struct import_yajl *y);   /* a token was in them */
bool import_yajl_closed(const struct import_yajl *y); /* the last of them closed a bracket; of elements of a list: one of these */
bool import_yajl_damage(struct import_yajl *y, const char *path, struct error *damage); /* false: no memory */

/* Of all that was fed. */
bool import_yajl_any(const struct import_yajl *y);   /* a token */
bool import_yajl_ended(const struct import_yajl *y); /* the outermost value's last bracket */
bool import_yajl_array(const struct import_yajl *y); /* that value is one */
unsigned import_yajl_depth(const struct import_yajl *y);

/* For a call: the file's byte behind the token that it is told of. */
uint64_t import_yajl_byte(const struct import_yajl *y);
