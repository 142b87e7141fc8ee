/* SPDX-License-Identifier: BSD-2-Clause */
/* stacks.h: where threads were: a process's stacks, the objects and Python code they go through, and when each was taken. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/format.h"
#include "symbols/symbols.h"
#include "tools/arena.h"

struct call;
struct trace;

struct code { /* a Python code object */
	uint32_t id, first_line;
	const char *file, *function;
};

struct object_file {        /* an ELF object that stacks go through */
	uint32_t id, flags; /* enum gst_object_flags */
	uint64_t bias;
	struct symbol_object file; /* its path, and why it has no symbols */
};

/* One line of a stack as people read it; an address in inlined functions is several. */
struct frame {
	const char *function;             /* "" not known */
	const char *mangled;              /* NULL: function is the symbol's own name */
	const char *file;                 /* NULL not known */
	const struct object_file *object; /* NULL: Python, or code made at run time */
	uint64_t address;                 /* native: as linked, else in memory; what was looked up */
	uint64_t offset;                  /* from the symbol's begin, where no line is known */
	uint32_t line;                    /* 0 not known */
	uint32_t raw;                     /* which frame of the record it is of */
	bool python, inlined;
	bool own; /* the user's code: no interpreter's, no framework's, no system's */
};

struct stack {
	uint32_t id, flags; /* enum gst_stack_flags */
	struct gst_frame *raw;
	size_t n_raw; /* innermost first */
	struct frame *frames;
	size_t n_frames; /* likewise */
};

struct stack_at {                 /* a stack that was taken */
	int64_t begin_ns, end_ns; /* by `why`, as in FORMAT.md */
	uint32_t tid;
	uint32_t stack; /* index, GST_NONE: the stack itself is missing */
	uint32_t weight;
	uint32_t kernel; /* SITE of a launch: index into trace.kernels, else 0 */
	uint16_t why, hook;
};

struct stack_thread { /* what was taken of one thread */
	uint32_t tid;
	const struct stack_at *calls;
	size_t n_calls; /* STALL, SILENCE, SITE, SAMPLE, by begin */
	const struct stack_at *looks;
	size_t n_looks; /* LOOK, by the moment of the look, which is its end */
};

struct stacks {
	struct stack *all;
	size_t n; /* by id */
	struct object_file *objects;
	size_t n_objects; /* by id */
	struct code *codes;
	size_t n_codes; /* by id */
	struct stack_at *taken;
	size_t n_taken; /* by thread, looks last, by time */
	struct stack_thread *threads;
	size_t n_threads; /* by tid */
	uint32_t *launch_sites;
	size_t n_sites;             /* by kernel: the stack it is launched with; GST_NONE none, or several */
	struct gst_stack_cost cost; /* the last; zero: none */
	uint64_t missing;           /* uses of stacks that are not there */
	struct arena arena;         /* texts and frames */
	size_t cap, cap_objects, cap_codes, cap_taken;
};

/* First pass over a file; v is a GST_STACK, GST_OBJECT, GST_CODE or GST_STACK_COST. False: no memory. */
bool stacks_describe(struct stacks *s, const struct gst_record *v);
/* Between the passes. */
void stacks_sort(struct stacks *s);
/* Second pass. False: no memory. */
bool stacks_take(struct stacks *s, const struct gst_stack_at *r, int64_t begin_ns, int64_t end_ns);
/* After it: what was taken after until_ns is left out. False: no memory. */
bool stacks_ready(struct stacks *s, int64_t until_ns);
/* Then, when the calls are sorted. False: no memory. */
bool stacks_find_sites(struct trace *t);
void stacks_free(struct stacks *s);

/* The stack that the call's kernel is launched with; GST_NONE: not known, or there are several, or it is no launch. */
uint32_t stacks_launch(const struct trace *t, const struct call *c);

const struct stack_thread *stacks_thread(const struct stacks *s, uint32_t tid); /* NULL none */
