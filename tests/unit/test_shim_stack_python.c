/* SPDX-License-Identifier: BSD-2-Clause */
/* Python's frames out of memory that a test has made: an interpreter that publishes its offsets, as from 3.13 on, and one of a layout that is
 * known; line tables; and the same with bits flipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "shim/stack_code.h"
#include "shim/stack_python.h"
#include "shim_trace.h"
#include "stack_emulated.h"

#define TID 4711
#define DEPTH 6

/* ---- line tables --------------------------------------------------------------------------------------------------------- */

static void lines_of_each_kind(void **state)
{
	/* short form, 2 units, line + 0; one line on, 1 unit; no column + 3, 3 units; long + 300, 1 unit; none, 2 units; no column - 5, 1 unit */
	static const uint8_t table[] = { 0x80 | 0 << 3 | 1,
					 0x12,
					 0x80 | 11 << 3 | 0,
					 1,
					 2,
					 0x80 | 13 << 3 | 2,
					 6,
					 0x80 | 14 << 3 | 0,
					 0x40 | (600 & 0x3f),
					 600 >> 6,
					 1,
					 2,
					 3,
					 0x80 | 15 << 3 | 1,
					 0x80 | 13 << 3 | 0,
					 5 << 1 | 1 };
	const struct {
		uint32_t offset, line;
	} expected[] = { { 0, 100 },  { 3, 100 }, { 4, 101 }, { 6, 104 },  { 11, 104 },
			 { 12, 404 }, { 14, 0 },  { 17, 0 },  { 18, 399 }, { 20, 0 } };

	(void)state;
	for (unsigned i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		assert_int_equal(stack_code_line(table, sizeof(table), 100, expected[i].offset), expected[i].line);
	assert_int_equal(stack_code_line(table, 0, 100, 0), 0);
	for (unsigned cut = 0; cut < sizeof(table); cut++)
		stack_code_line(table, cut, 100, 1000000); /* ends */
}

/* ---- an interpreter ------------------------------------------------------------------------------------------------------- */

#define BYTES 65536

struct made {
	uint8_t *memory; /* everything lies in these pages, and nothing behind them */
	uint64_t used;
	uint64_t runtime, code_type, version;
	uint64_t head, other, thread, current; /* where the list begins; its two threads; what the second one runs */
	struct stack_python_symbols symbols;
};

static struct made made;

static uint64_t room(uint64_t bytes)
{
	uint64_t at = (uint64_t)(uintptr_t)made.memory + made.used;

	made.used += (bytes + 15) & ~15ull;
	assert_true(made.used <= BYTES);
	return at;
}

static void put(uint64_t at, uint64_t value)
{
	memcpy((void *)(uintptr_t)at, &value, sizeof(value));
}

static uint64_t make_text(const struct stack_python_layout *l, const char *text)
{
	uint64_t at = room(l->text_compact_bytes + strlen(text) + 1);

	put(at + l->text_length, strlen(text));
	put(at + l->text_state, 1 << 2 | 1 << 5 | 1 << 6); /* one byte each, compact, ASCII */
	memcpy((void *)(uintptr_t)(at + l->text_ascii_bytes), text, strlen(text));
	return at;
}

static uint64_t make_code(const struct stack_python_layout *l, const char *file, const char *name, uint32_t first_line)
{
	uint64_t at = room(l->code_instructions + 64), table = room(l->bytes_text + 8);
	static const uint8_t lines[] = {
		0x80 | 11 << 3 | 3, 0, 0, 0x80 | 11 << 3 | 7, 0, 0
	}; /* one line on, and one more after 4 units */

	put(at + l->object_type, made.code_type);
	put(at + l->code_file, make_text(l, file));
	put(at + l->code_name, make_text(l, name));
	put(at + l->code_lines, table);
	put(at + l->code_first_line, first_line);
	put(table + l->bytes_length, sizeof(lines));
	memcpy((void *)(uintptr_t)(table + l->bytes_text), lines, sizeof(lines));
	return at;
}

static uint64_t make_frame(const struct stack_python_layout *l, uint64_t code, uint64_t previous, uint8_t owner)
{
	uint64_t at = room(96);

	put(at + l->frame_code, code);
	put(at + l->frame_previous, previous);
	put(at + l->frame_instruction, code + l->code_instructions + 10);
	*(uint8_t *)(uintptr_t)(at + l->frame_owner) = owner;
	return at;
}

/* As 3.13 lays it out, by the order of the words that it publishes; the offsets themselves are the test's. */
static void publish(struct stack_python_layout *l)
{
	static const uint32_t words[][2] = { { 5, 1000 }, { 8, 24 },   { 9, 320 }, { 21, 8 },   { 22, 16 }, { 23, 72 },
					     { 25, 160 }, { 29, 8 },   { 30, 0 },  { 31, 56 },  { 33, 70 }, { 35, 112 },
					     { 37, 128 }, { 38, 136 }, { 39, 68 }, { 43, 200 }, { 45, 8 },  { 65, 16 },
					     { 66, 32 },  { 68, 32 },  { 69, 16 }, { 70, 40 } };

	memcpy((void *)(uintptr_t)made.runtime, "xdebugpy", 8);
	put(made.runtime + 8, 0x030d01f0);
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		put(made.runtime + words[i][0] * 8ull, words[i][1]);
	put(made.version, 0x030d01f0);
	assert_true(stack_python_layout(l, &made.symbols));
	assert_int_equal(l->version, 0x030d);
	assert_int_equal(l->threads_head, 320);
	assert_int_equal(l->code_instructions, 200);
	assert_int_equal(l->text_compact_bytes, 56);
}

static void be_known(struct stack_python_layout *l, uint32_t version)
{
	put(made.version, (uint64_t)version << 16 | 0x7f0);
	assert_true(stack_python_layout(l, &made.symbols));
	assert_int_equal(l->version, version);
}

static void make_memory(void)
{
	uint8_t *p = mmap(NULL, BYTES + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	munmap(p + BYTES, 4096);
	made = (struct made){ .memory = p };
	made.runtime = room(2048);
	made.code_type = room(16);
	made.version = room(8);
	made.symbols = (struct stack_python_symbols){ .runtime = made.runtime,
						      .code_type = made.code_type,
						      .version = made.version };
	stack_python_forget();
	stack_code_forget();
}

/* Three frames that one evaluation runs, then as many of another one. */
static void make_interpreter(const struct stack_python_layout *l)
{
	uint64_t interpreter = room(512), thread = room(256), other = room(256), frame = 0, c_frame = room(64);
	char name[16];

	made.head = interpreter + l->threads_head;
	made.other = other;
	made.thread = thread;
	put(made.runtime + l->interpreters_head, interpreter);
	put(made.head, other);
	put(other + l->thread_next, thread);
	put(thread + l->thread_previous, other);
	put(other + l->thread_interpreter, interpreter);
	put(other + l->thread_native_id, TID + 1);
	put(thread + l->thread_interpreter, interpreter);
	put(thread + l->thread_native_id, TID);
	for (int i = DEPTH - 1; i >= 0; i--) {
		if ((i == DEPTH - 1 || i == DEPTH / 2 - 1) && l->frame_is_entry == STACK_PYTHON_NONE)
			frame = make_frame(l, 0, frame, 3);
		snprintf(name, sizeof(name), "f%d", i);
		frame = make_frame(l, make_code(l, "/a/file.py", name, 100u * (unsigned)i), frame, 0);
		if (l->frame_is_entry != STACK_PYTHON_NONE)
			*(uint8_t *)(uintptr_t)(frame + l->frame_is_entry) = i == DEPTH - 1 || i == DEPTH / 2 - 1;
	}
	if (l->c_frame_current != STACK_PYTHON_NONE) {
		put(c_frame + l->c_frame_current, frame);
		frame = c_frame;
	}
	put(thread + l->thread_current, frame);
	made.current = frame;
}

static struct ring ring;
static struct stack_window window;
static struct stack_python_frame frames[STACK_PYTHON_MAX];
static struct stack_line lines[STACK_PYTHON_MAX];
static char told[DEPTH][32];

static void read_told(const struct gst_record *r, uint32_t segment, void *arg)
{
	const struct gst_code *c = (const struct gst_code *)r;

	(void)segment;
	(void)arg;
	if (r->type != GST_CODE)
		return;
	assert_in_range(c->id, 1, DEPTH);
	snprintf(told[c->id - 1], sizeof(told[0]), "%.*s|%.*s|%u", c->file_bytes, c->text, c->name_bytes,
		 c->text + c->file_bytes, c->first_line);
}

static void assert_frames(const struct stack_python_layout *l, bool other)
{
	bool whole = false;
	unsigned n;
	size_t size;
	uint8_t *file;

	window.pages = 1;
	n = stack_python_frames(l, made.runtime, TID, other, &window, frames, &whole);
	assert_int_equal(n, DEPTH);
	assert_true(whole);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(frames[i].entry, i == DEPTH - 1 || i == DEPTH / 2 - 1);
	ring_attach(&ring);
	stack_code_lines(&ring, l, made.code_type, frames, n, lines);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(lines[i].code, i + 1);
		assert_int_equal(lines[i].line, 100 * i + 2); /* the instruction at 10 */
	}
	file = slurp(&size);
	each_record(file, size, read_told, NULL);
	free(file);
	for (unsigned i = 0; i < n; i++) {
		char expected[32];

		snprintf(expected, sizeof(expected), "/a/file.py|f%u|%u", i, 100 * i);
		assert_string_equal(told[i], expected);
	}
	assert_int_equal(stack_python_frames(l, made.runtime, TID + 2, other, &window, frames, &whole),
			 0); /* it runs no Python */
}

static void by_published_offsets(void **state)
{
	struct stack_python_layout l;

	(void)state;
	make_memory();
	publish(&l);
	make_interpreter(&l);
	assert_frames(&l, false);
	assert_frames(&l, true);
}

static void by_known_layouts(void **state)
{
	struct stack_python_layout l;

	(void)state;
	for (uint32_t version = 0x030b; version <= 0x030c; version++) {
		make_memory();
		be_known(&l, version);
		make_interpreter(&l);
		assert_frames(&l, false);
	}
}

static unsigned count_frames(const struct stack_python_layout *l)
{
	bool whole;

	return stack_python_frames(l, made.runtime, TID, false, &window, frames, &whole);
}

/* The thread leaves the interpreter and comes back: a state elsewhere, in the list before or behind the other's. What libc writes into the old
 * one's memory, if anything, are the first words. */
static uint64_t move_thread(const struct stack_python_layout *l, uint64_t from, bool first)
{
	uint64_t to = room(256);

	memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, 256);
	put(from + l->thread_current, 0);
	put(to + l->thread_previous, first ? 0 : made.other);
	put(to + l->thread_next, first ? made.other : 0);
	put(made.head, first ? to : made.other);
	put(made.other + l->thread_previous, first ? to : 0);
	put(made.other + l->thread_next, first ? 0 : to);
	return to;
}

static void a_state_that_was_freed(void **state)
{
	const struct timespec some = { 0, 20000000 };
	struct stack_python_layout l;
	uint64_t at;

	(void)state;
	for (uint32_t version = 0x030b; version <= 0x030d; version++) {
		make_memory();
		if (version == 0x030d)
			publish(&l);
		else
			be_known(&l, version);
		make_interpreter(&l);
		window.pages = 1;
		assert_int_equal(count_frames(&l), DEPTH);
		at = move_thread(&l, made.thread, false);
		put(made.thread, (uint64_t)(uintptr_t)made.memory >> 12);
		assert_int_equal(count_frames(&l), DEPTH);
		at = move_thread(&l, at, true);
		assert_int_equal(count_frames(&l), DEPTH);
		at = move_thread(&l, at, true);
		assert_int_equal(count_frames(&l), DEPTH);
		/* It leaves; and its next state is where the other one was, which left as well. */
		put(at + l.thread_current, 0);
		put(made.head, made.other);
		put(made.other + l.thread_previous, 0);
		assert_int_equal(count_frames(&l), 0);
		put(made.other + l.thread_native_id, TID);
		put(made.other + l.thread_current, made.current);
		nanosleep(&some, NULL);
		assert_int_equal(count_frames(&l), DEPTH);
	}
}

static void what_cannot_be_is_refused(void **state)
{
	static const unsigned small[] = { 21, 23, 25, 29, 31, 33, 35, 39, 45, 66, 70 };
	struct stack_python_layout l;

	(void)state;
	make_memory();
	publish(&l);
	for (unsigned i = 0; i < sizeof(small) / sizeof(*small); i++) {
		uint64_t was;

		memcpy(&was, (void *)(uintptr_t)(made.runtime + 8 * small[i]), 8);
		put(made.runtime + 8 * small[i], 1 << 20);
		assert_false(stack_python_layout(&l, &made.symbols));
		put(made.runtime + 8 * small[i], was);
	}
	*(uint8_t *)(uintptr_t)made.runtime ^= 1; /* the cookie */
	assert_false(stack_python_layout(&l, &made.symbols));
	put(made.version, 0x030e00f0);
	assert_false(stack_python_layout(&l, &made.symbols));
	put(made.version, 0x030a00f0);
	assert_false(stack_python_layout(&l, &made.symbols));
}

/* ---- a thread that runs meanwhile -------------------------------------------------------------------------------------------- */

static uint64_t word(uint64_t at)
{
	uint64_t value;

	memcpy(&value, (void *)(uintptr_t)at, sizeof(value));
	return value;
}

static void run_frame(const struct stack_python_layout *l, uint64_t frame)
{
	uint64_t thread = word(word(word(made.runtime + l->interpreters_head) + l->threads_head) + l->thread_next);

	if (l->c_frame_current != STACK_PYTHON_NONE)
		put(word(thread + l->thread_current) + l->c_frame_current, frame);
	else
		put(thread + l->thread_current, frame);
}

static void make_version(struct stack_python_layout *l, uint32_t version)
{
	make_memory();
	if (version == 0x030d)
		publish(l);
	else
		be_known(l, version);
	make_interpreter(l);
}

#define FRAMES 4 /* each in a page of its own */

static struct {
	uint64_t codes[FRAMES]; /* where each frame has its code */
	uint64_t before, after;
	unsigned reads, at_read;
} change;

static void change_all(uint64_t code)
{
	for (unsigned i = 1; i < FRAMES; i++)
		put(change.codes[i], code);
}

static void change_then(void)
{
	if (++change.reads == change.at_read)
		change_all(change.after);
}

/* The innermost frame is where it was, and all that is around it another: whenever that happens, what is found was there at one moment. */
static void a_loop_that_came_round(void **state)
{
	(void)state;
	for (uint32_t version = 0x030b; version <= 0x030d; version++) {
		struct stack_python_layout l;
		unsigned found[2] = { 0 }, nothing = 0;
		uint64_t frame;

		make_version(&l, version);
		change.before = make_code(&l, "/a/file.py", "before", 1);
		change.after = make_code(&l, "/a/file.py", "after", 1);
		frame = l.frame_is_entry == STACK_PYTHON_NONE ? make_frame(&l, 0, 0, 3) : 0;
		for (unsigned i = FRAMES; i-- > 0;) {
			room(4096);
			frame = make_frame(&l, change.before, frame, 0);
			change.codes[i] = frame + l.frame_code;
		}
		run_frame(&l, frame);
		for (change.at_read = 0; change.at_read < 40; change.at_read++) {
			bool whole;
			unsigned n;

			change_all(change.before);
			change.reads = 0;
			window.pages = 1;
			behind_read = change_then;
			n = stack_python_frames(&l, made.runtime, TID, true, &window, frames, &whole);
			behind_read = NULL;
			nothing += n == 0;
			if (n == 0)
				continue;
			assert_int_equal(n, FRAMES);
			for (unsigned i = 2; i < n; i++)
				assert_int_equal(frames[i].code, frames[1].code);
			found[frames[1].code == change.after]++;
		}
		assert_true(found[false] && found[true] && nothing);
	}
}

/* One that yields is in nobody's chain from then on: who runs one has a frame. */
static void a_generator_that_yielded(void **state)
{
	(void)state;
	for (uint32_t version = 0x030b; version <= 0x030d; version++) {
		struct stack_python_layout l;
		bool whole;

		make_version(&l, version);
		run_frame(&l, make_frame(&l, make_code(&l, "/a/file.py", "generator", 1), 0, 1));
		window.pages = 1;
		assert_int_equal(stack_python_frames(&l, made.runtime, TID, true, &window, frames, &whole), 0);
	}
}

/* Whatever stands in its memory: it ends, and nothing is read that is not there. */
static void nonsense(void **state)
{
	struct stack_python_layout l;
	static uint8_t good[BYTES];
	bool whole;

	(void)state;
	make_memory();
	publish(&l);
	make_interpreter(&l);
	memcpy(good, made.memory, BYTES);
	srandom(42);
	ring_attach(&ring);
	for (unsigned round = 0; round < 10000; round++) {
		unsigned n;

		for (long flips = random() % 8; flips >= 0; flips--) {
			uint64_t at = (uint64_t)random() % (made.used - 2048) / 8 * 8 + 2048;
			uint64_t value = random() % 3
						 ? (uint64_t)(uintptr_t)made.memory + (uint64_t)random() % (BYTES + 64)
						 : (uint64_t)random() << (random() % 33);

			memcpy(made.memory + at, &value, 8);
		}
		window.pages = 1;
		n = stack_python_frames(&l, made.runtime, TID, round % 2, &window, frames, &whole);
		assert_in_range(n, 0, STACK_PYTHON_MAX);
		stack_code_lines(&ring, &l, made.code_type, frames, n, lines);
		memcpy(made.memory, good, BYTES);
	}
	assert_int_equal(stack_python_frames(&l, made.runtime, TID, true, &window, frames, &whole), DEPTH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_each_kind),
		cmocka_unit_test_setup_teardown(by_published_offsets, set_up, tear_down),
		cmocka_unit_test_setup_teardown(by_known_layouts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_state_that_was_freed, set_up, tear_down),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test_setup_teardown(nonsense, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_loop_that_came_round, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_generator_that_yielded, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
