/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_python.h: the Python frames of a thread, read out of the interpreter's memory: without its lock, without calling it.
 *
 * Of CPython 3.13 the interpreter itself says where everything is (_PyRuntime begins with its offsets, for debuggers); of 3.11 and 3.12 the
 * layouts are known. A thread's own frames stand still while it is in a call of ours. All else may change under our eyes: everything is read
 * through the kernel, and believed only where it hangs together. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stack_memory.h"
#include "stack_objects.h"

#define STACK_PYTHON_MAX 512u

struct stack_python_layout {
	uint32_t version;                         /* 0x030b is 3.11 */
	uint32_t interpreters_head;               /* in _PyRuntime */
	uint32_t interpreter_next, threads_head;  /* in PyInterpreterState */
	uint32_t thread_next, thread_interpreter; /* in PyThreadState */
	uint32_t thread_previous;                 /* which 3.13 does not publish: the first word, as ever */
	uint32_t thread_current, thread_native_id;
	uint32_t
		c_frame_current; /* 3.11, 3.12: thread_current leads to a _PyCFrame, and this on; else STACK_PYTHON_NONE */
	uint32_t frame_code, frame_previous, frame_instruction, frame_owner;
	uint32_t frame_is_entry; /* 3.11; else STACK_PYTHON_NONE, and owner C_STACK marks where evaluation began */
	uint32_t object_type;
	uint32_t code_file, code_name, code_lines, code_first_line, code_instructions;
	uint32_t text_length, text_state, text_ascii_bytes, text_compact_bytes;
	uint32_t bytes_length, bytes_text;
};
#define STACK_PYTHON_NONE UINT32_MAX

struct stack_python_frame {
	uint64_t code;        /* PyCodeObject */
	uint64_t instruction; /* address in its instructions */
	bool entry; /* one call of the evaluation function runs all frames from the one behind the entry before up to this one */
};

/* The layout of the interpreter in that object. False: of a version that we do not know, or what it says cannot be. */
bool stack_python_layout(struct stack_python_layout *l, const struct stack_python_symbols *symbols);

/* Innermost first; `other`: the thread is not the calling one, it may run meanwhile. 0: it runs no Python, or, and then
 * *whole is false, what it ran changed under our eyes. */
unsigned stack_python_frames(const struct stack_python_layout *l, uint64_t runtime, uint32_t tid, bool other,
			     struct stack_window *w, struct stack_python_frame *frames, bool *whole);

/* Who has the interpreter's lock, by its number, where `futex` is what those wait at who want it; 0: it is not, or nobody has it. */
uint32_t stack_python_holder(const struct stack_python_layout *l, uint64_t futex);

void stack_python_forget(void);
