/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack_python.h"

#include <string.h>

#include "clock.h"

#define INTERPRETERS_MAX 64
#define THREADS_MAX 4096
#define OWNED_BY_GENERATOR 1 /* enum _frameowner … */
#define OWNED_BY_C_STACK 3   /* … from 3.12 on */
#define FRAME_BYTES 72       /* what any layout needs of one; the least that one has */
#define THREAD_BYTES 256
#define SMALL 240      /* no offset in a thread's state, or in a text, is larger */
#define CODE_SMALL 176 /* … in a code object, before its instructions */
#define LARGE (16u << 20)

/* ---- layouts ---------------------------------------------------------------------------------------------------------- */

static const struct stack_python_layout known[] = {
	{ .version = 0x030b,
	  .interpreters_head = 40,
	  .interpreter_next = 0,
	  .threads_head = 16,
	  .thread_next = 8,
	  .thread_interpreter = 16,
	  .thread_current = 56,
	  .thread_native_id = 160,
	  .c_frame_current = 8,
	  .frame_code = 32,
	  .frame_previous = 48,
	  .frame_instruction = 56,
	  .frame_owner = 69,
	  .frame_is_entry = 68,
	  .object_type = 8,
	  .code_file = 112,
	  .code_name = 128,
	  .code_lines = 136,
	  .code_first_line = 72,
	  .code_instructions = 184,
	  .text_length = 16,
	  .text_state = 32,
	  .text_ascii_bytes = 48,
	  .text_compact_bytes = 72,
	  .bytes_length = 16,
	  .bytes_text = 32 },
	{ .version = 0x030c,
	  .interpreters_head = 40,
	  .interpreter_next = 0,
	  .threads_head = 72,
	  .thread_next = 8,
	  .thread_interpreter = 16,
	  .thread_current = 56,
	  .thread_native_id = 144,
	  .c_frame_current = 0,
	  .frame_code = 0,
	  .frame_previous = 8,
	  .frame_instruction = 56,
	  .frame_owner = 70,
	  .frame_is_entry = STACK_PYTHON_NONE,
	  .object_type = 8,
	  .code_file = 112,
	  .code_name = 128,
	  .code_lines = 136,
	  .code_first_line = 68,
	  .code_instructions = 192,
	  .text_length = 16,
	  .text_state = 32,
	  .text_ascii_bytes = 40,
	  .text_compact_bytes = 56,
	  .bytes_length = 16,
	  .bytes_text = 32 },
};

/* What _PyRuntime begins with in 3.13 (_Py_DebugOffsets), in 64-bit words. */
enum {
	SAID_COOKIE = 0,
	SAID_VERSION = 1,
	SAID_INTERPRETERS_HEAD = 5,
	SAID_INTERPRETER_NEXT = 8,
	SAID_THREADS_HEAD = 9,
	SAID_THREAD_NEXT = 21,
	SAID_THREAD_INTERPRETER = 22,
	SAID_THREAD_CURRENT = 23,
	SAID_THREAD_NATIVE_ID = 25,
	SAID_FRAME_PREVIOUS = 29,
	SAID_FRAME_CODE = 30,
	SAID_FRAME_INSTRUCTION = 31,
	SAID_FRAME_OWNER = 33,
	SAID_CODE_FILE = 35,
	SAID_CODE_NAME = 37,
	SAID_CODE_LINES = 38,
	SAID_CODE_FIRST_LINE = 39,
	SAID_CODE_INSTRUCTIONS = 43,
	SAID_OBJECT_TYPE = 45,
	SAID_BYTES_LENGTH = 65,
	SAID_BYTES_TEXT = 66,
	SAID_TEXT_STATE = 68,
	SAID_TEXT_LENGTH = 69,
	SAID_TEXT_BYTES = 70,
	SAID_WORDS = 71,
};
#define COOKIE "xdebugpy"
#define COMPACT_MORE 16 /* of a text that is not ASCII: utf8_length, utf8 */

static bool take_said(const uint64_t *said, unsigned word, uint64_t limit, uint32_t *to)
{
	*to = (uint32_t)said[word];
	return said[word] <= limit;
}

static bool as_said(struct stack_python_layout *l, uint64_t runtime, uint32_t version)
{
	uint64_t said[SAID_WORDS];
	bool good;

	if (!stack_read(said, runtime, sizeof(said)) || memcmp(&said[SAID_COOKIE], COOKIE, 8) != 0 ||
	    said[SAID_VERSION] >> 16 != version)
		return false;
	*l = (struct stack_python_layout){ .version = version,
					   .c_frame_current = STACK_PYTHON_NONE,
					   .frame_is_entry = STACK_PYTHON_NONE };
	good = take_said(said, SAID_INTERPRETERS_HEAD, LARGE, &l->interpreters_head);
	good &= take_said(said, SAID_INTERPRETER_NEXT, LARGE, &l->interpreter_next);
	good &= take_said(said, SAID_THREADS_HEAD, LARGE, &l->threads_head);
	good &= take_said(said, SAID_THREAD_NEXT, SMALL, &l->thread_next);
	good &= take_said(said, SAID_THREAD_INTERPRETER, SMALL, &l->thread_interpreter);
	good &= take_said(said, SAID_THREAD_CURRENT, SMALL, &l->thread_current);
	good &= take_said(said, SAID_THREAD_NATIVE_ID, SMALL, &l->thread_native_id);
	good &= take_said(said, SAID_FRAME_PREVIOUS, FRAME_BYTES - 8, &l->frame_previous);
	good &= take_said(said, SAID_FRAME_CODE, FRAME_BYTES - 8, &l->frame_code);
	good &= take_said(said, SAID_FRAME_INSTRUCTION, FRAME_BYTES - 8, &l->frame_instruction);
	good &= take_said(said, SAID_FRAME_OWNER, FRAME_BYTES - 1, &l->frame_owner);
	good &= take_said(said, SAID_CODE_FILE, CODE_SMALL, &l->code_file);
	good &= take_said(said, SAID_CODE_NAME, CODE_SMALL, &l->code_name);
	good &= take_said(said, SAID_CODE_LINES, CODE_SMALL, &l->code_lines);
	good &= take_said(said, SAID_CODE_FIRST_LINE, CODE_SMALL, &l->code_first_line);
	good &= take_said(said, SAID_CODE_INSTRUCTIONS, LARGE, &l->code_instructions);
	good &= take_said(said, SAID_OBJECT_TYPE, CODE_SMALL, &l->object_type);
	good &= take_said(said, SAID_BYTES_LENGTH, SMALL, &l->bytes_length);
	good &= take_said(said, SAID_BYTES_TEXT, SMALL, &l->bytes_text);
	good &= take_said(said, SAID_TEXT_STATE, SMALL, &l->text_state);
	good &= take_said(said, SAID_TEXT_LENGTH, SMALL, &l->text_length);
	good &= take_said(said, SAID_TEXT_BYTES, SMALL, &l->text_ascii_bytes);
	l->text_compact_bytes = l->text_ascii_bytes + COMPACT_MORE;
	return good;
}

bool stack_python_layout(struct stack_python_layout *l, const struct stack_python_symbols *symbols)
{
	uint64_t version;

	if (!symbols->runtime || !symbols->code_type || !symbols->version ||
	    !stack_read(&version, symbols->version, sizeof(version)))
		return false;
	version >>= 16;
	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].version == version) {
			*l = known[i];
			return true;
		}
	return version == 0x030d && as_said(l, symbols->runtime, (uint32_t)version);
}

/* ---- the thread -------------------------------------------------------------------------------------------------------- */

static uint64_t word_in(const uint8_t *bytes, uint32_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static bool read_word(uint64_t from, uint64_t *to)
{
	return from % 8 == 0 && stack_read(to, from, sizeof(*to));
}

#define REMEMBERED 64
#define NONE_FOR_NS 5000000 /* for so long it is believed that a thread has no state */

static struct { /* where a thread's state was; what it says of itself is looked at each time */
	uint32_t tid;
	uint64_t state;       /* 0: it had none … */
	uint64_t head, ticks; /* … when this was the head of the list, and then */
} remembered[REMEMBERED];

static bool read_thread(uint64_t state, uint8_t *bytes)
{
	return state && state % 8 == 0 && stack_read(bytes, state, THREAD_BYTES);
}

/* Is this the state of that thread, in that interpreter (0: in any)? */
static bool is_it(const struct stack_python_layout *l, const uint8_t *bytes, uint64_t interpreter, uint32_t tid)
{
	return word_in(bytes, l->thread_native_id) == tid &&
	       (!interpreter || word_in(bytes, l->thread_interpreter) == interpreter);
}

/* A thread that leaves the interpreter after each callback has a new state each time, and the memory of the old one may say for long what it said:
 * those that are in use are in the interpreter's list. */
static bool is_linked(const struct stack_python_layout *l, uint64_t state, const uint8_t *bytes)
{
	uint64_t previous = word_in(bytes, l->thread_previous), there;

	return read_word(previous ? previous + l->thread_next : word_in(bytes, l->thread_interpreter) + l->threads_head,
			 &there) &&
	       there == state;
}

static uint64_t find_among(const struct stack_python_layout *l, uint64_t interpreter, uint64_t head, uint32_t tid,
			   uint8_t *bytes)
{
	uint64_t state = head;

	for (unsigned n = 0; n < THREADS_MAX && read_thread(state, bytes); n++) {
		if (is_it(l, bytes, interpreter, tid))
			return state;
		state = word_in(bytes, l->thread_next);
	}
	return 0;
}

/* Where the thread's state is, 0: it has none; and what it says. */
static uint64_t find_thread(const struct stack_python_layout *l, uint64_t runtime, uint32_t tid, uint8_t *bytes)
{
	uint64_t interpreter, head = 0, first = 0, state = 0;
	unsigned place = tid % REMEMBERED;

	if (remembered[place].tid == tid && read_thread(remembered[place].state, bytes) && is_it(l, bytes, 0, tid) &&
	    is_linked(l, remembered[place].state, bytes))
		return remembered[place].state;
	if (!read_word(runtime + l->interpreters_head, &interpreter) || !interpreter ||
	    !read_word(interpreter + l->threads_head, &first))
		return 0;
	if (remembered[place].tid == tid && !remembered[place].state && remembered[place].head == first &&
	    clock_ticks() - remembered[place].ticks < clock_ticks_in(NONE_FOR_NS))
		return 0; /* a new one would be the head, but may be where another was */
	for (unsigned n = 0; n < INTERPRETERS_MAX && interpreter && !state; n++) {
		if (!read_word(interpreter + l->threads_head, &head))
			break;
		state = find_among(l, interpreter, head, tid, bytes);
		if (!read_word(interpreter + l->interpreter_next, &interpreter))
			break;
	}
	remembered[place].tid = tid;
	remembered[place].state = state;
	remembered[place].head = first;
	remembered[place].ticks = clock_ticks();
	return state;
}

void stack_python_forget(void)
{
	memset(remembered, 0, sizeof(remembered));
}

/* ---- the interpreter's lock --------------------------------------------------------------------------------------------- */

/* Before the condition that those wait at who want it (struct _gil_runtime_state), in all versions. */
struct lock {
	uint64_t holder; /* PyThreadState: the last one that had it */
	int32_t locked, zero;
	uint64_t switches;
};

/* Wherever else that futex is: what stands there is no thread of the interpreter's. */
uint32_t stack_python_holder(const struct stack_python_layout *l, uint64_t futex)
{
	static const uint64_t words[] = {
		40, 32
	}; /* in glibc's pthread_cond_t a waiter's is one of two: up to 2.40, from 2.41 on */
	uint8_t thread[THREAD_BYTES];
	struct lock lock;

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
		uint64_t condition = (futex & ~7ull) - words[i];

		if (condition < futex && stack_read(&lock, condition - sizeof(lock), sizeof(lock)) &&
		    lock.locked == 1 && read_thread(lock.holder, thread) && is_linked(l, lock.holder, thread))
			return (uint32_t)word_in(thread, l->thread_native_id);
	}
	return 0;
}

/* ---- its frames -------------------------------------------------------------------------------------------------------- */

static uint64_t current_frame(const struct stack_python_layout *l, const uint8_t *thread)
{
	uint64_t frame = word_in(thread, l->thread_current);

	if (!frame)
		return 0;
	if (l->c_frame_current != STACK_PYTHON_NONE && !read_word(frame + l->c_frame_current, &frame))
		return 0;
	return frame;
}

static unsigned follow(const struct stack_python_layout *l, uint64_t frame, struct stack_window *w,
		       struct stack_python_frame *frames, bool *whole)
{
	uint8_t bytes[FRAME_BYTES];
	unsigned n = 0;

	*whole = false;
	for (unsigned seen = 0; seen < 2 * STACK_PYTHON_MAX && n < STACK_PYTHON_MAX; seen++) {
		uint8_t owner;

		if (frame % 8 || !stack_window_read(w, bytes, frame, sizeof(bytes)))
			return n;
		owner = bytes[l->frame_owner];
		if (owner > OWNED_BY_C_STACK)
			return n;
		if (owner == OWNED_BY_C_STACK && l->frame_is_entry == STACK_PYTHON_NONE) {
			if (n)
				frames[n - 1].entry = true;
		} else {
			frames[n] = (struct stack_python_frame){
				.code = word_in(bytes, l->frame_code),
				.instruction = word_in(bytes, l->frame_instruction),
				.entry = l->frame_is_entry != STACK_PYTHON_NONE && bytes[l->frame_is_entry],
			};
			n++;
		}
		frame = word_in(bytes, l->frame_previous);
		if (!frame && owner == OWNED_BY_GENERATOR)
			return 0; /* it has yielded since: whoever runs one has a frame */
		if (!frame) {
			*whole = true;
			if (n)
				frames[n - 1].entry = true;
			return n;
		}
	}
	return n;
}

/* A thread that runs goes on while its frames are read. They are what it had at one moment if they are the same when read once more: that its
 * innermost one is where it was says little, as a loop comes back to it within less time than a look takes. */
static bool stood_still(const struct stack_python_layout *l, uint64_t state, uint64_t frame, struct stack_window *w,
			const struct stack_python_frame *frames, unsigned n)
{
	static struct stack_python_frame again[STACK_PYTHON_MAX];
	uint8_t thread[THREAD_BYTES];
	bool whole;

	if (!read_thread(state, thread) || current_frame(l, thread) != frame)
		return false;
	w->bytes = 0;
	if (follow(l, frame, w, again, &whole) != n)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (again[i].code != frames[i].code || again[i].instruction != frames[i].instruction)
			return false;
	return read_thread(state, thread) && current_frame(l, thread) == frame;
}

unsigned stack_python_frames(const struct stack_python_layout *l, uint64_t runtime, uint32_t tid, bool other,
			     struct stack_window *w, struct stack_python_frame *frames, bool *whole)
{
	uint8_t thread[THREAD_BYTES];
	uint64_t state = find_thread(l, runtime, tid, thread), frame = state ? current_frame(l, thread) : 0;
	unsigned n;

	*whole = true;
	if (!frame)
		return 0;
	w->bytes = 0;
	n = follow(l, frame, w, frames, whole);
	if (n && other && !stood_still(l, state, frame, w, frames, n)) {
		*whole = false;
		return 0;
	}
	return n;
}
