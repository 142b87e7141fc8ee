/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_objects.h: what is mapped where, as far as stacks go through it, and how each place in it is left (stack_cfi.h), remembered by address.
 *
 * The loader's list says what is there (elf_list.h). Its lock is not taken, so what it lists may be unloaded at any moment, and another object
 * come to its place: of each object that a walk went through is asked afterwards whether it is what it was, and of the list whether more was
 * loaded. Whoever uses these holds the lock of stack.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "elf_list.h"
#include "stack_cfi.h"
#include "stack_mark.h"

struct ring;

#define STACK_OBJECTS 1024u
#define STACK_NO_OBJECT UINT16_MAX

struct stack_python_symbols {                 /* all 0: no interpreter in this object */
	uint64_t runtime, code_type, version; /* addresses of _PyRuntime, PyCode_Type, Py_Version */
	uint64_t eval_begin, eval_end;        /* _PyEval_EvalFrameDefault */
};

struct stack_object {
	uint64_t begin, end, bias;
	struct elf_entry entry; /* the loader's; .at 0: this place in the table is free */
	struct stack_mark mark;
	struct stack_cfi frames;
	uint32_t id;    /* of its GST_OBJECT, 0 not written yet */
	uint32_t used;  /* in this round */
	bool own;       /* the recorder's */
	bool is_program, is_kernels;
	uint8_t build_id[32];
	uint8_t build_id_bytes;
	struct stack_python_symbols python;
};

static inline bool stack_object_has(const struct stack_object *o, uint64_t at)
{
	return at >= o->begin && at < o->end;
}

/* Before each walk. */
void stack_objects_begin(void);
/* It went through that one (STACK_NO_OBJECT: none). */
void stack_objects_use(uint16_t object);
/* After it, in one system call: is everything as it was taken for? If not, what is gone is forgotten with all that was remembered of it, and the
 * walk is void. */
bool stack_objects_hold(void);

/* How the frame is left that is at this instruction, and the object it is in (STACK_NO_OBJECT: in none). */
struct stack_rule stack_objects_rule(uint64_t pc, uint16_t *object);

const struct stack_object *stack_object_at(uint16_t object);
/* The object's number in the file; the first time its record is written. 0: of no object. */
uint32_t stack_object_id(struct ring *r, uint16_t object);

/* The one with a Python interpreter in it, or STACK_NO_OBJECT. */
uint16_t stack_objects_python(void);

/* Objects that found no place, as many as there ever were at a time; by anybody, at any time. */
uint32_t stack_objects_left_out(void);

void stack_objects_forget(void);
