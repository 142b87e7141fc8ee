/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack_code.h"

#include <string.h>

#include "ring.h"
#include "utf8.h"

#define CODES 4096u /* a power of two */
#define CODES_MAX (CODES / 4 * 3)
#define LINES 8192u
#define HEAD_BYTES 184u /* before its instructions, in every version */
#define BATCH 64u
#define TABLE_MAX (256u << 10)
#define OFFSET_MAX (64u << 20)
#define TEXT_MAX 1024u /* characters; the end of a longer one is cut */

struct code { /* as it was when it was told of: another one may be made at its place */
	uint64_t at;
	uint64_t file, name, lines;
	uint32_t first_line, id;
};

static struct code codes[CODES];
static uint32_t n_codes, last_id;
static struct {
	uint32_t code, offset, line;
} lines_known[LINES];

/* ---- lines ------------------------------------------------------------------------------------------------------------- */

struct bytes {
	const uint8_t *p, *end;
};

/* Six bits a byte, the lowest first; the next highest bit says that there are more. */
static uint32_t take_number(struct bytes *b)
{
	uint32_t value = 0;

	for (unsigned shift = 0; b->p < b->end && shift < 32; shift += 6) {
		uint8_t byte = *b->p++;

		value |= (uint32_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40))
			break;
	}
	return value;
}

static int32_t take_signed(struct bytes *b)
{
	uint32_t value = take_number(b);

	return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/* An entry begins with 1, its kind in four bits, its length less one in three; no other byte has the highest bit. */
uint32_t stack_code_line(const uint8_t *table, uint32_t bytes, uint32_t first_line, uint32_t offset)
{
	struct bytes b = { table, table + bytes };
	uint32_t at = 0;
	int64_t line = first_line;

	while (b.p < b.end) {
		uint8_t head = *b.p++;
		unsigned kind = head >> 3 & 15;
		bool has_line = kind != 15;

		if (kind == 13 || kind == 14)
			line += take_signed(&b);
		else if (kind >= 10 && kind <= 12)
			line += kind - 10;
		at += ((head & 7u) + 1) * 2;
		if (offset < at)
			return has_line && line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
		while (b.p < b.end && !(*b.p & 0x80))
			b.p++;
	}
	return 0;
}

static uint32_t look_up_line(const struct stack_python_layout *l, const struct code *c, uint32_t offset)
{
	static uint8_t table[TABLE_MAX];
	uint64_t bytes;

	if (!stack_read(&bytes, c->lines + l->bytes_length, sizeof(bytes)) || bytes > TABLE_MAX ||
	    !stack_read(table, c->lines + l->bytes_text, (size_t)bytes))
		return 0;
	return stack_code_line(table, (uint32_t)bytes, c->first_line, offset);
}

static uint32_t line_of(const struct stack_python_layout *l, const struct code *c, uint32_t offset)
{
	uint32_t place = (c->id * 2654435761u ^ offset * 40503u) % LINES;

	if (lines_known[place].code != c->id || lines_known[place].offset != offset) {
		lines_known[place].line = look_up_line(l, c, offset);
		lines_known[place].code = c->id;
		lines_known[place].offset = offset;
	}
	return lines_known[place].line;
}

/* ---- texts ------------------------------------------------------------------------------------------------------------- */

/* A str whose characters stand right behind its head; all names in code objects are. `to` has room for TEXT_MAX characters. */
static bool read_text(const struct stack_python_layout *l, uint64_t at, char *to, uint16_t *bytes)
{
	static uint8_t characters[4 * TEXT_MAX];
	uint64_t length;
	uint32_t state, each;
	unsigned n = 0;

	*bytes = 0;
	if (!stack_read(&length, at + l->text_length, sizeof(length)) ||
	    !stack_read(&state, at + l->text_state, sizeof(state)))
		return false;
	each = state >> 2 & 7; /* interned 2 bits, kind 3, compact 1, ascii 1 */
	if ((each != 1 && each != 2 && each != 4) || !(state >> 5 & 1))
		return false;
	length = length < TEXT_MAX ? length : TEXT_MAX;
	at += state >> 6 & 1 ? l->text_ascii_bytes : l->text_compact_bytes;
	if (length && !stack_read(characters, at, (size_t)length * each))
		return false;
	for (uint32_t i = 0; i < length; i++) {
		uint32_t c = 0;

		memcpy(&c, characters + i * each, each);
		n += utf8_put(to + n, c);
	}
	*bytes = (uint16_t)n;
	return true;
}

/* ---- code objects ------------------------------------------------------------------------------------------------------ */

static bool tell(struct ring *r, const struct stack_python_layout *l, struct code *c)
{
	static char file[4 * TEXT_MAX], name[4 * TEXT_MAX];
	struct gst_code *record;
	uint16_t file_bytes, name_bytes;

	if (!read_text(l, c->file, file, &file_bytes) || !read_text(l, c->name, name, &name_bytes))
		return false;
	record = ring_reserve(r, GST_CODE, (uint16_t)((sizeof(*record) + file_bytes + name_bytes + 7) & ~7ull));
	if (!record)
		return false;
	c->id = ++last_id;
	record->id = c->id;
	record->first_line = c->first_line;
	record->file_bytes = file_bytes;
	record->name_bytes = name_bytes;
	record->version = (uint16_t)l->version;
	memcpy(record->text, file, file_bytes);
	memcpy(record->text + file_bytes, name, name_bytes);
	ring_commit(record);
	return true;
}

static bool is_same(const struct code *a, const struct code *b)
{
	return a->file == b->file && a->name == b->name && a->lines == b->lines && a->first_line == b->first_line;
}

static struct code *find(struct ring *r, const struct stack_python_layout *l, struct code *now)
{
	uint32_t place = (uint32_t)(now->at * 0x9e3779b97f4a7c15ull >> 40) % CODES;

	while (codes[place].at && codes[place].at != now->at)
		place = (place + 1) % CODES;
	if (codes[place].at && is_same(&codes[place], now))
		return &codes[place];
	if (!tell(r, l, now))
		return NULL;
	if (!codes[place].at && ++n_codes > CODES_MAX) { /* they are told of again as they come */
		memset(codes, 0, sizeof(codes));
		n_codes = 1;
		place = (uint32_t)(now->at * 0x9e3779b97f4a7c15ull >> 40) % CODES;
	}
	codes[place] = *now;
	return &codes[place];
}

static uint64_t word_in(const uint8_t *head, uint32_t offset)
{
	uint64_t word;

	memcpy(&word, head + offset, sizeof(word));
	return word;
}

static struct stack_line line_in(struct ring *r, const struct stack_python_layout *l, uint64_t code_type,
				 const uint8_t *head, const struct stack_python_frame *f)
{
	struct code now = { .at = f->code,
			    .file = word_in(head, l->code_file),
			    .name = word_in(head, l->code_name),
			    .lines = word_in(head, l->code_lines),
			    .first_line = (uint32_t)word_in(head, l->code_first_line) };
	uint64_t offset = f->instruction - (f->code + l->code_instructions);
	struct code *c;

	if (word_in(head, l->object_type) != code_type)
		return (struct stack_line){ 0, 0 };
	c = find(r, l, &now);
	if (!c)
		return (struct stack_line){ 0, 0 };
	/* A frame that has only just been made is before its first instruction. */
	return (struct stack_line){ c->id, offset < OFFSET_MAX ? line_of(l, c, (uint32_t)offset) : c->first_line };
}

void stack_code_lines(struct ring *r, const struct stack_python_layout *l, uint64_t code_type,
		      const struct stack_python_frame *frames, unsigned n, struct stack_line *lines)
{
	static uint8_t heads[BATCH * HEAD_BYTES];
	static uint64_t at[BATCH];

	for (unsigned i = 0, some; i < n; i += some) {
		unsigned read;

		some = n - i < BATCH ? n - i : BATCH;
		for (unsigned k = 0; k < some; k++)
			at[k] = frames[i + k].code;
		read = stack_read_each(heads, at, some, HEAD_BYTES);
		for (unsigned k = 0; k < some; k++)
			lines[i + k] = k < read ? line_in(r, l, code_type, heads + k * HEAD_BYTES, &frames[i + k])
						: (struct stack_line){ 0, 0 };
	}
}

void stack_code_forget(void)
{
	memset(codes, 0, sizeof(codes));
	memset(lines_known, 0, sizeof(lines_known));
	n_codes = last_id = 0;
}
