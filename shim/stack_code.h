/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_code.h: Python's code objects: each is told of once (GST_CODE), and an instruction in it is a line. */
#pragma once

#include <stdint.h>

#include "stack_python.h"

struct ring;

struct stack_line {
	uint32_t code; /* number of a GST_CODE; 0: this is no code object, or could not be read */
	uint32_t line; /* 0 not known */
};

/* For n frames (STACK_PYTHON_MAX at most); those whose code is not told of yet are. */
void stack_code_lines(struct ring *r, const struct stack_python_layout *l, uint64_t code_type,
		      const struct stack_python_frame *frames, unsigned n, struct stack_line *lines);

/* The line of an instruction, `offset` bytes into the code, by co_linetable (from 3.11 on; Objects/locations.md). 0: none. */
uint32_t stack_code_line(const uint8_t *table, uint32_t bytes, uint32_t first_line, uint32_t offset);

void stack_code_forget(void);
