/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack_object_learn.h"

#include <string.h>
#include <sys/auxv.h>

#include "elf_tables.h"
#include "stack_memory.h"
#include "stack_objects.h"

#define NOTES_MAX 64

/* name size, text size, type; name, text; each padded to four bytes. */
static void read_notes(struct stack_object *o, uint64_t at, uint64_t bytes, uint64_t *id_at)
{
	struct {
		uint32_t name_bytes, text_bytes, type;
		char name[4];
	} note;

	for (unsigned n = 0; n < NOTES_MAX && bytes >= sizeof(note) && stack_read(&note, at, sizeof(note)); n++) {
		uint64_t text = 12 + ((note.name_bytes + 3ull) & ~3ull),
			 end = text + ((note.text_bytes + 3ull) & ~3ull);

		if (end > bytes)
			return;
		if (note.type == 3 && note.name_bytes == 4 && memcmp(note.name, "GNU", 4) == 0) {
			uint32_t some = note.text_bytes < sizeof(o->build_id) ? note.text_bytes : sizeof(o->build_id);

			if (!stack_read(o->build_id, at + text, some))
				return;
			o->build_id_bytes = (uint8_t)some;
			*id_at = at + text;
			return;
		}
		at += end;
		bytes -= end;
	}
}

static uint64_t address(const struct elf_tables *t, const char *name, uint64_t *bytes)
{
	ElfW(Sym) s = { .st_size = 0 };
	bool found = elf_tables_find(t, name, &s);

	if (bytes)
		*bytes = s.st_size;
	return found ? t->bias + s.st_value : 0;
}

static void look_for_python(struct stack_object *o)
{
	struct stack_python_symbols *p = &o->python;
	struct elf_tables t;
	uint64_t bytes;

	if (!elf_tables_read(&t, &o->entry.map))
		return;
	p->runtime = address(&t, "_PyRuntime", NULL);
	if (!p->runtime)
		return;
	p->code_type = address(&t, "PyCode_Type", NULL);
	p->version = address(&t, "Py_Version", NULL);
	p->eval_begin = address(&t, "_PyEval_EvalFrameDefault", &bytes);
	p->eval_end = p->eval_begin + bytes;
}

static struct stack_cfi frames_of(const struct elf_headers *h, uint64_t bias, struct stack_window *w)
{
	const ElfW(Phdr) *frames = elf_headers_of(h, PT_GNU_EH_FRAME);

	for (unsigned i = 0; frames && i < h->n; i++) {
		const ElfW(Phdr) *p = &h->header[i];

		if (p->p_type == PT_LOAD && (p->p_flags & PF_R) && frames->p_vaddr >= p->p_vaddr &&
		    frames->p_vaddr - p->p_vaddr < p->p_filesz)
			return (struct stack_cfi){ bias + frames->p_vaddr, bias + p->p_vaddr,
						   bias + p->p_vaddr + p->p_filesz, w };
	}
	return (struct stack_cfi){ .hdr = 0 };
}

bool stack_object_learn(struct stack_object *o, const struct elf_entry *e, struct stack_window *w)
{
	static struct elf_headers h;
	uint64_t id_at = 0;

	if (!elf_headers_read(&h, &e->map))
		return false;
	*o = (struct stack_object){
		.begin = UINT64_MAX, .bias = e->map.l_addr, .entry = *e, .is_program = h.at == getauxval(AT_PHDR)
	};
	for (unsigned i = 0; i < h.n; i++) {
		const ElfW(Phdr) *p = &h.header[i];
		uint64_t at = o->bias + p->p_vaddr;

		if (p->p_type == PT_NOTE && !o->build_id_bytes)
			read_notes(o, at, p->p_filesz, &id_at);
		if (p->p_type != PT_LOAD)
			continue;
		o->begin = at < o->begin ? at : o->begin;
		o->end = at + p->p_memsz > o->end ? at + p->p_memsz : o->end;
	}
	o->frames = frames_of(&h, o->bias, w);
	o->own = stack_object_has(o, (uintptr_t)stack_object_learn);
	o->is_kernels = stack_object_has(o, getauxval(AT_SYSINFO_EHDR));
	if (o->begin >= o->end || !stack_mark_make(&o->mark, &h, o->bias, id_at, o->build_id, o->build_id_bytes))
		return false;
	look_for_python(o);
	return !o->python.runtime || stack_mark_stands(&o->mark);
}
