/* SPDX-License-Identifier: BSD-2-Clause */
/* import_place.c: where a fact stands, in words. */
#include "import.h"

#include "tools/text_put.h"

const char *import_place_text(char *buf, size_t size, const struct trace *t, uint64_t place)
{
	const char *table = t->imported && IMPORT_IS_ROW(place) ? import_nsys_table(IMPORT_TABLE(place)) : NULL;
	struct text_put p = text_put_begin(buf, size);

	put_text(&p, table ? "row " : "byte ");
	put_uint(&p, table ? IMPORT_ROW_OF(place) : place);
	put_text(&p, table ? " of " : "");
	put_text(&p, table ? table : "");
	return buf;
}
