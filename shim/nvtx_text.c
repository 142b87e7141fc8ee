/* SPDX-License-Identifier: BSD-2-Clause */
#include "nvtx_text.h"

#include <string.h>

#include "file.h"
#include "names.h"
#include "thread.h"
#include "utf8.h"

#define ARENA_BYTES (1u << 20)
#define PROBES 64
#define DIGITS 9 /* a number of so many fits into 32 bits */

static struct text {
	uint64_t hash;  /* 0 free */
	uint32_t ready; /* the rest is filled in */
	uint32_t at;    /* in the arena */
	uint32_t length;
	uint32_t written; /* the generation of the file that has it */
} texts[NVTX_TEXTS];
static char arena[ARENA_BYTES];
static uint32_t arena_used;

void nvtx_untracked(void)
{
	__atomic_fetch_add(&file_counters()->nvtx_untracked, 1, __ATOMIC_RELAXED);
}

/* FNV-1a, 64 bits; never 0. */
static uint64_t hash_of(const char *text, size_t length)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < length; i++)
		h = (h ^ (uint8_t)text[i]) * 0x100000001b3u;
	return h ? h : 1;
}

/* False: the arena is full. */
static bool take_room(uint32_t length, uint32_t *at)
{
	*at = __atomic_load_n(&arena_used, __ATOMIC_RELAXED);
	do
		if (length > ARENA_BYTES - *at)
			return false;
	while (!__atomic_compare_exchange_n(&arena_used, at, *at + length, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

static bool fill(struct text *t, const char *text, size_t length)
{
	if (!take_room((uint32_t)length, &t->at))
		return false; /* another thread took the last of it: the place is void for good */
	memcpy(arena + t->at, text, length);
	t->length = (uint32_t)length;
	__atomic_store_n(&t->ready, 1, __ATOMIC_RELEASE);
	return true;
}

/* One that another thread is filling in is passed by: that thread may be this one, interrupted, or not exist after a fork. The text then has
 * two numbers. */
static bool is_this(const struct text *t, const char *text, size_t length)
{
	return __atomic_load_n(&t->ready, __ATOMIC_ACQUIRE) && t->length == length &&
	       memcmp(arena + t->at, text, length) == 0;
}

uint32_t nvtx_text(const char *text, size_t length)
{
	uint64_t hash = hash_of(text, length);
	bool room = __atomic_load_n(&arena_used, __ATOMIC_RELAXED) + length <= ARENA_BYTES;

	for (unsigned i = 0; i < PROBES; i++) {
		uint32_t place = (uint32_t)((hash ^ hash >> 32) + i) % NVTX_TEXTS;
		struct text *t = &texts[place];
		uint64_t there = __atomic_load_n(&t->hash, __ATOMIC_ACQUIRE);

		if (!there && !room)
			break;
		if (!there &&
		    __atomic_compare_exchange_n(&t->hash, &there, hash, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			if (fill(t, text, length))
				return place + 1;
			break;
		}
		if (there == hash && is_this(t, text, length))
			return place + 1;
	}
	nvtx_untracked();
	return 0;
}

size_t nvtx_text_copy(char *to, size_t size, uint32_t number)
{
	const struct text *t = number && number <= NVTX_TEXTS ? &texts[number - 1] : NULL;
	size_t length;

	if (!t || !__atomic_load_n(&t->ready, __ATOMIC_ACQUIRE))
		return 0;
	length = t->length < size ? t->length : size;
	memcpy(to, arena + t->at, length);
	return length;
}

/* ---- what the program hands over --------------------------------------------------------------------------------------- */

/* So much of it as can be kept without cutting a character in two. */
static size_t whole_characters(const char *text, size_t length)
{
	size_t at = length;

	while (at > 0 && length - at < 4 && ((uint8_t)text[at - 1] & 0xc0) == 0x80)
		at--;
	if (at == 0 || (uint8_t)text[at - 1] < 0xc0)
		return length; /* ends with a plain character, or is no UTF-8 */
	return length - at + 1 < ((uint8_t)text[at - 1] >= 0xf0   ? 4u
				  : (uint8_t)text[at - 1] >= 0xe0 ? 3u
								  : 2u)
		       ? at - 1
		       : length;
}

static size_t length_of(const char *text)
{
	size_t length = strnlen(text, NVTX_TEXT_BYTES);

	return length < NVTX_TEXT_BYTES ? length : whole_characters(text, length);
}

static size_t narrow(char *to, const wchar_t *text)
{
	size_t length = 0;

	for (; length + 4 <= NVTX_TEXT_BYTES && *text; text++)
		length += utf8_put(to + length, (uint32_t)*text);
	return length;
}

/* "step 12" is "step " and 12, "step 007" is "step 00" and 7. */
static struct nvtx_name name_of(const char *text, size_t length)
{
	struct nvtx_name name = { 0 };
	size_t digits = 0;
	uint32_t unit = 1;

	while (digits < length && digits < DIGITS && text[length - 1 - digits] >= '0' &&
	       text[length - 1 - digits] <= '9')
		digits++;
	while (digits > 1 && text[length - digits] == '0')
		digits--;
	for (size_t i = 0; i < digits; i++, unit *= 10)
		name.number += unit * (uint32_t)(text[length - 1 - i] - '0');
	name.numbered = digits > 0;
	name.text = nvtx_text(text, length - digits);
	return name;
}

uint32_t nvtx_text_ascii(const char *text)
{
	return text ? nvtx_text(text, length_of(text)) : 0;
}

uint32_t nvtx_text_wide(const wchar_t *text)
{
	char narrowed[NVTX_TEXT_BYTES] = "";

	return text ? nvtx_text(narrowed, narrow(narrowed, text)) : 0;
}

struct nvtx_name nvtx_name_ascii(const char *text)
{
	return text ? name_of(text, length_of(text)) : (struct nvtx_name){ 0 };
}

struct nvtx_name nvtx_name_wide(const wchar_t *text)
{
	char narrowed[NVTX_TEXT_BYTES] = "";

	return text ? name_of(narrowed, narrow(narrowed, text)) : (struct nvtx_name){ 0 };
}

/* ---- handles ------------------------------------------------------------------------------------------------------------ */

/* number << 24 | text << 8 | numbered << 1 | 1, marked on top as no address could be. */
#define HANDLE_MARK 0x4700000000000000u
#define HANDLE_MASK 0xff00000000000000u

_Static_assert(NVTX_TEXTS < 1 << 16, "a text fits into a handle");

void *nvtx_name_handle(struct nvtx_name name)
{
	return (void *)(uintptr_t)(HANDLE_MARK | (uint64_t)name.number << 24 | (uint64_t)name.text << 8 |
				   (uint64_t)name.numbered << 1 | 1);
}

struct nvtx_name nvtx_name_of(const void *handle)
{
	uint64_t h = (uintptr_t)handle;
	struct nvtx_name name = { .text = h >> 8 & 0xffff, .number = (uint32_t)(h >> 24), .numbered = h >> 1 & 1 };

	if ((h & HANDLE_MASK) != HANDLE_MARK || !(h & 1) || name.text > NVTX_TEXTS)
		return (struct nvtx_name){ 0 };
	return name;
}

/* ---- into the file ------------------------------------------------------------------------------------------------------ */

/* In the middle of another append: a record of any size that finds no room is lost, and so it is written again another time. */
static void write_here(struct thread *t, uint32_t number, const struct text *text)
{
	union {
		struct gst_name name;
		uint8_t bytes[sizeof(struct gst_name) + NVTX_TEXT_BYTES];
	} r = { .name = { .id = number, .space = GST_SPACE_NVTX, .length = (uint16_t)text->length } };

	memcpy(r.name.text, arena + text->at, text->length);
	ring_append_here(&t->ring, GST_NAME, (uint16_t)((sizeof(r.name) + text->length + 7) & ~7u), &r);
}

void nvtx_text_write(struct thread *t, uint32_t number, bool here)
{
	struct text *text = number && number <= NVTX_TEXTS ? &texts[number - 1] : NULL;
	uint32_t generation = *process_generation, written;

	if (!text || !__atomic_load_n(&text->ready, __ATOMIC_ACQUIRE))
		return;
	written = __atomic_load_n(&text->written, __ATOMIC_RELAXED);
	if (__builtin_expect(written == generation, 1))
		return;
	if (here) {
		write_here(t, number, text);
		return;
	}
	if (!__atomic_compare_exchange_n(&text->written, &written, generation, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return;
	names_write_bytes(&t->ring, GST_SPACE_NVTX, number, arena + text->at, text->length);
}
