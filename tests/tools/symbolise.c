/* SPDX-License-Identifier: BSD-2-Clause */
/* symbolise FOLDER PATH BUILD-ID BYTES:MTIME-NS ADDRESS…: what the analyzer finds at these addresses (hexadecimal, as linked) of an object, as
 * JSON. FOLDER, BUILD-ID: - none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/symbols.h"
#include "tools/json.h"

static void place_json(struct json *j, const struct symbol_place *p)
{
	json_map(j);
	json_key_text(j, "function", p->function);
	if (p->mangled)
		json_key_text(j, "mangled", p->mangled);
	if (p->file)
		json_key_text(j, "file", p->file);
	json_key_int(j, "line", p->line);
	json_key_int(j, "offset", (int64_t)p->offset);
	json_key(j, "inlined");
	json_bool(j, p->inlined);
	json_map_end(j);
}

static void print(const struct symbol_object *o, const struct symbol_query *queries, size_t n)
{
	const char *trouble = symbols_trouble(o->state);
	struct json j;

	json_open(&j, stdout);
	json_map(&j);
	json_key_text(&j, "trouble", trouble ? trouble : "");
	json_key(&j, "dwarf");
	json_bool(&j, o->dwarf);
	json_key_array(&j, "places");
	for (size_t i = 0; i < n; i++) {
		json_array(&j);
		for (uint32_t k = 0; k < queries[i].n_places; k++)
			place_json(&j, &queries[i].places[k]);
		json_array_end(&j);
	}
	json_array_end(&j);
	json_map_end(&j);
	putchar('\n');
}

int main(int argc, char *argv[])
{
	struct symbol_options options = { .folder = argc > 1 && strcmp(argv[1], "-") != 0 ? argv[1] : NULL };
	struct symbol_object object = { 0 };
	size_t n = argc > 5 ? (size_t)argc - 5 : 0;
	struct symbol_query *queries = calloc(n + 1, sizeof(*queries));
	struct arena arena = { 0 };
	struct error e;

	if (argc < 5 || !queries) {
		fprintf(stderr, "usage: symbolise FOLDER PATH BUILD-ID BYTES:MTIME-NS ADDRESS...\n");
		return 2;
	}
	object.path = argv[2];
	for (const char *id = argv[3]; *id != '-' && id[0] && id[1] && object.n_build_id < SYMBOLS_BUILD_ID; id += 2) {
		const char hex[3] = { id[0], id[1] };

		object.build_id[object.n_build_id++] = (uint8_t)strtoul(hex, NULL, 16);
	}
	object.file_bytes = strtoull(argv[4], NULL, 10);
	object.file_mtime_ns = strchr(argv[4], ':') ? strtoull(strchr(argv[4], ':') + 1, NULL, 10) : 0;
	for (size_t i = 0; i < n; i++)
		queries[i].address = strtoull(argv[5 + i], NULL, 16);
	if (symbols_resolve(&object, 1, queries, n, &options, &arena, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return 4;
	}
	print(&object, queries, n);
	arena_free(&arena);
	free(queries);
	return 0;
}
