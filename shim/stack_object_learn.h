/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_object_learn.h: what stacks have to know of an object: where it is, what it is known by, where its tables are, whether Python is in it. */
#pragma once

#include <stdbool.h>

struct elf_entry;
struct stack_object;
struct stack_window;

/* w: what its tables are to be read through. False: there is nothing that could be read, or not of one object. */
bool stack_object_learn(struct stack_object *o, const struct elf_entry *e, struct stack_window *w);
