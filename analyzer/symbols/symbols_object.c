/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbols_object.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols_file.h"
#include "symbols_table.h"
#include "tools/alloc.h"
#include "tools/text.h"

struct unit { /* a range of a compilation unit */
	Dwarf_Addr low, high;
	Dwarf_Die die;
};

struct object {
	struct symbol_object *about;
	const struct symbol_options *options;
	Dwfl *dwfl;
	Dwfl_Module *module;
	char *path;
	GElf_Addr bias;     /* libdwfl's own, of symbols */
	struct unit *units; /* by low; only where the object has no table of them (clang leaves it out) */
	size_t n_units, cap_units;
	bool listed;
	struct symbol_table symbols;
	char *texts[4 * SYMBOLS_INLINED]; /* of the last answer */
	size_t n_texts;
};

/* libdwfl asks for the debug file. userdata is the object's. */
static int find_debug(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, const char *file,
		      const char *link, GElf_Word crc, char **debug_path)
{
	const struct object *object = *userdata;

	(void)module;
	(void)name;
	(void)base;
	(void)file;
	return object ? symbols_open_debug(object->about, object->options, object->path, link, crc, debug_path) : -1;
}

static const Dwfl_Callbacks callbacks = { .find_debuginfo = find_debug,
					  .section_address = dwfl_offline_section_address };

struct object *object_open(struct symbol_object *o, const struct symbol_options *options)
{
	struct object *object = calloc(1, sizeof(*object));
	Dwarf_Addr bias;
	void **userdata;
	int fd;

	elf_version(EV_CURRENT);
	if (!object)
		return NULL;
	object->about = o;
	object->options = options;
	fd = symbols_open_object(o, options, &object->path);
	if (fd < 0) {
		free(object);
		return NULL;
	}
	object->dwfl = dwfl_begin(&callbacks);
	dwfl_report_begin(object->dwfl);
	object->module = object->dwfl ? dwfl_report_offline(object->dwfl, object->path, object->path, fd) : NULL;
	if (!object->module) { /* libdwfl owns the descriptor only where it succeeds */
		close(fd);
		dwfl_end(object->dwfl);
		free(object->path);
		free(object);
		o->state = SYMBOLS_UNREADABLE;
		return NULL;
	}
	dwfl_report_end(object->dwfl, NULL, NULL);
	dwfl_module_info(object->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = object;
	dwfl_module_getelf(object->module, &object->bias);
	o->dwarf = dwfl_module_getdwarf(object->module, &bias) != NULL;
	return object;
}

static void forget_texts(struct object *object)
{
	for (size_t i = 0; i < object->n_texts; i++)
		free(object->texts[i]);
	object->n_texts = 0;
}

void object_close(struct object *object)
{
	if (!object)
		return;
	forget_texts(object);
	dwfl_end(object->dwfl);
	free(object->units);
	symbol_table_free(&object->symbols);
	free(object->path);
	free(object);
}

/* ---- names ---- */

static const char *keep(struct object *object, char *text)
{
	if (!text || object->n_texts == sizeof(object->texts) / sizeof(object->texts[0])) {
		free(text);
		return NULL;
	}
	return object->texts[object->n_texts++] = text;
}

/* C++ and Rust. */
static bool is_mangled(const char *symbol)
{
	return strncmp(symbol, "_Z", 2) == 0 || strncmp(symbol, "_R", 2) == 0;
}

/* What is not mangled is its own name. */
static void set_name(struct object *object, struct symbol_place *place, const char *symbol)
{
	const char *readable = NULL;

	if (is_mangled(symbol))
		readable = keep(object, cplus_demangle(symbol, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO));
	place->function = readable ? readable : symbol;
	place->mangled = readable ? symbol : NULL;
}

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		return dwarf_formstring(&attr);
	return NULL;
}

/* A linkage name that is not mangled is an alias of C, "__GI___nanosleep": the name in the source is the better one. */
static void set_die_name(struct object *object, struct symbol_place *place, Dwarf_Die *die)
{
	const char *linkage = linkage_name(die), *name = dwarf_diename(die);

	if (linkage && (!name || is_mangled(linkage)))
		name = linkage;
	if (name)
		set_name(object, place, name);
}

/* ---- lines ---- */

/* A name in DWARF may be relative to the folder of the compilation. */
static const char *whole_path(struct object *object, Dwarf_Die *unit, const char *file)
{
	Dwarf_Attribute attr;
	const char *folder;
	char *path;

	if (!file || *file == '/')
		return file;
	folder = dwarf_formstring(dwarf_attr_integrate(unit, DW_AT_comp_dir, &attr));
	if (!folder)
		return file;
	if (strncmp(file, "./", 2) == 0)
		file += 2;
	if (asprintf(&path, "%s/%s", folder, file) < 0)
		return file;
	path = (char *)keep(object, path);
	return path ? path : file;
}

static void set_line(struct object *object, struct symbol_place *place, Dwarf_Die *unit, Dwarf_Addr pc)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, pc);
	int number = 0;

	if (!line)
		return;
	place->file = whole_path(object, unit, dwarf_linesrc(line, NULL, NULL));
	place->line = dwarf_lineno(line, &number) == 0 && number > 0 ? (uint32_t)number : 0;
}

/* Where an inlined function was called from. */
static void set_call_line(struct object *object, struct symbol_place *place, Dwarf_Die *unit, Dwarf_Die *inlined)
{
	Dwarf_Attribute attr;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t n;

	if (dwarf_getsrcfiles(unit, &files, &n) == 0 &&
	    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attr), &file) == 0 && file < n)
		place->file = whole_path(object, unit, dwarf_filesrc(files, file, NULL, NULL));
	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attr), &line) == 0 && line <= UINT32_MAX)
		place->line = (uint32_t)line;
}

/* ---- units ---- */

static int by_low(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	return (x->low > y->low) - (x->low < y->low);
}

static void list_units(struct object *object)
{
	Dwarf_Addr bias, base, low, high;
	Dwarf_Die *die = NULL;

	object->listed = true;
	while ((die = dwfl_module_nextcu(object->module, die, &bias))) {
		for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;) {
			if (low >= high || !array_room(object->units, object->n_units, object->cap_units))
				continue;
			object->units[object->n_units++] = (struct unit){ low + bias, high + bias, *die };
		}
	}
	array_sort(object->units, object->n_units, sizeof(*object->units), by_low);
}

static bool begins_by(const void *element, const void *key)
{
	return ((const struct unit *)element)->low <= *(const Dwarf_Addr *)key;
}

/* The compilation unit at an address, and what to add to its own addresses. */
static bool unit_at(struct object *object, Dwarf_Addr at, Dwarf_Die *unit, Dwarf_Addr *bias)
{
	Dwarf_Die *die = dwfl_module_addrdie(object->module, at, bias);
	size_t i;

	if (die && dwarf_haspc(die, at - *bias) ==
			   1) { /* libdwfl takes what lies between two pieces of a unit for the unit's own */
		*unit = *die;
		return true;
	}
	if (!dwfl_module_getdwarf(object->module, bias))
		return false;
	if (!object->listed)
		list_units(object);
	i = array_first(object->units, object->n_units, sizeof(*object->units), begins_by, &at);
	if (i == 0 || at >= object->units[i - 1].high)
		return false;
	*unit = object->units[i - 1].die;
	return true;
}

/* ---- an address ---- */

struct scopes { /* functions that hold pc, outermost first; [0] is the one that is no other's part */
	Dwarf_Addr pc;
	Dwarf_Die at[SYMBOLS_INLINED];
	uint32_t n;
};

#define NESTED 128 /* scopes in each other; damaged ones may be endless */

/* libdw's own search for scopes (dwarf_getscopes) finds nothing where a function is described in another unit, as with LTO. */
static void find_scopes(struct scopes *s, Dwarf_Die *parent, int depth)
{
	Dwarf_Die child;

	if (depth == NESTED || dwarf_child(parent, &child) != 0)
		return;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
			find_scopes(s, &child, depth + 1);
			break;
		case DW_TAG_subprogram:
		case DW_TAG_entry_point:
		case DW_TAG_inlined_subroutine:
		case DW_TAG_lexical_block:
			if (dwarf_haspc(&child, s->pc) != 1)
				break;
			if (dwarf_tag(&child) == DW_TAG_subprogram) /* a function within a function stands for itself */
				s->n = 0;
			if (dwarf_tag(&child) != DW_TAG_lexical_block && s->n < SYMBOLS_INLINED)
				s->at[s->n++] = child;
			find_scopes(s, &child, depth + 1);
			return;
		default:
			break;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
}

/* With LTO lines may bear the name of a file that never was. */
static void set_real_file(struct object *object, struct symbol_place *place, Dwarf_Die *unit, Dwarf_Die *function)
{
	const char *declared = NULL;

	if (place->file && strcmp(text_base(place->file), "<artificial>") == 0)
		declared = dwarf_decl_file(function);
	if (declared)
		place->file = whole_path(object, unit, declared);
}

static uint32_t places_of_dwarf(struct object *object, Dwarf_Addr at, struct symbol_place *places)
{
	struct scopes s = { 0 };
	Dwarf_Addr bias;
	Dwarf_Die unit;

	if (!unit_at(object, at, &unit, &bias))
		return 0;
	s.pc = at - bias;
	find_scopes(&s, &unit, 0);
	places[0] = (struct symbol_place){ .function = "" };
	set_line(object, &places[0], &unit, s.pc);
	for (uint32_t i = 0; i < s.n; i++) { /* innermost first */
		Dwarf_Die *scope = &s.at[s.n - 1 - i];

		set_die_name(object, &places[i], scope);
		set_real_file(object, &places[i], &unit, scope);
		if (i + 1 == s.n)
			break;
		places[i].inlined = true;
		places[i + 1] = (struct symbol_place){ .function = "" };
		set_call_line(object, &places[i + 1], &unit, scope);
	}
	return s.n ? s.n : places[0].line ? 1 : 0;
}

uint32_t object_places(struct object *object, uint64_t address, struct symbol_place places[SYMBOLS_INLINED])
{
	Dwarf_Addr at = address + object->bias;
	uint64_t offset = 0;
	const char *name;
	uint32_t n;

	forget_texts(object);
	n = places_of_dwarf(object, at, places);
	name = symbol_at(&object->symbols, object->module, at, &offset);
	if (!name)
		return n;
	if (!n) {
		places[0] = (struct symbol_place){ .offset = offset };
		n = 1;
	}
	/* What DWARF does not name is written in assembler: its symbol does. */
	if (!places[n - 1].function || !*places[n - 1].function)
		set_name(object, &places[n - 1], name);
	return n;
}
