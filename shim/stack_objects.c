/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack_objects.h"

#include <string.h>

#include "clock.h"
#include "stack_memory.h"
#include "stack_object_learn.h"
#include "stack_object_record.h"

#define RULES 8192u          /* a power of two; in pairs */
#define NOWHERE_NS 10000000u /* after so long the list is gone through again for an address that nobody has seen */
#define USED_MAX (STACK_PIECES - ELF_END_PIECES)
#define TRIES 3 /* of a list that changes meanwhile */

struct remembered {
	uint64_t pc; /* 0: nothing */
	struct stack_rule rule;
	uint16_t object;
};

static struct stack_object objects[STACK_OBJECTS + ELF_SPACES_MAX]; /* those behind: find_last_one() */
static uint32_t n_objects, left_out, last_id, round_now;
static struct elf_list list;
static bool asked;           /* the list is as it was when it was gone through last */
static uint64_t asked_ticks; /* … and that was then */
static uint16_t python = STACK_NO_OBJECT;
static struct remembered rules[RULES];
static struct stack_window tables = { .pages = 1 };

/* ---- all of them ------------------------------------------------------------------------------------------------------ */

static struct {
	uint8_t seen[STACK_OBJECTS];
	uint32_t next; /* the loader's order is mostly ours */
	uint32_t left_out;
	bool learned, dropped; /* a new one, one that is gone */
} census;

static uint16_t last_ones[ELF_SPACES_MAX];

static struct { /* since the walk began */
	uint16_t object[USED_MAX];
	unsigned n;
	bool changed; /* the table, in the middle of it */
} used;

/* Those of objects that are gone; nowhere: and those of addresses in none, which may be in one now. */
static void sift_rules(bool nowhere)
{
	for (uint32_t i = 0; i < RULES; i++) {
		uint16_t object = rules[i].object;

		if (object == STACK_NO_OBJECT ? nowhere : !objects[object].entry.at)
			rules[i].pc = 0;
	}
}

static void find_interpreter(void)
{
	python = STACK_NO_OBJECT;
	for (uint32_t i = 0; i < n_objects && python == STACK_NO_OBJECT; i++)
		if (objects[i].entry.at && objects[i].python.eval_begin)
			python = (uint16_t)i;
}

/* The loader gives the memory of its lists to others, too: the same place is not yet the same object. */
static bool is_same(const struct stack_object *o, const struct elf_entry *e)
{
	return o->entry.at == e->at && o->entry.map.l_addr == e->map.l_addr && o->entry.map.l_ld == e->map.l_ld &&
	       o->entry.map.l_name == e->map.l_name && stack_mark_stands(&o->mark);
}

static void count_in(const struct elf_entry *e)
{
	uint32_t place = STACK_OBJECTS;

	for (uint32_t n = 0; n < n_objects; n++) {
		uint32_t i = (census.next + n) % n_objects;

		if (!objects[i].entry.at)
			place = place == STACK_OBJECTS ? i : place;
		else if (!census.seen[i] && is_same(&objects[i], e)) {
			census.seen[i] = 1;
			census.next = i + 1;
			return;
		}
	}
	if (place == STACK_OBJECTS) {
		if (n_objects == STACK_OBJECTS) {
			census.left_out++;
			return;
		}
		place = n_objects++;
	}
	census.seen[place] = stack_object_learn(&objects[place], e, &tables);
	if (!census.seen[place])
		objects[place].entry.at = 0;
	census.learned |= census.seen[place];
}

/* One that found no place has one behind the table: no stack goes through it there, but it can be asked whether it still stands. */
static uint16_t find_last_one(unsigned space)
{
	const struct elf_entry *last = &list.spaces[space].last;
	uint32_t behind = STACK_OBJECTS + space;

	for (uint32_t i = 0; i < n_objects; i++)
		if (objects[i].entry.at && objects[i].entry.at == last->at)
			return (uint16_t)i;
	return census.left_out && last->at && stack_object_learn(&objects[behind], last, &tables) ? (uint16_t)behind
												  : STACK_NO_OBJECT;
}

static void note_last_ones(void)
{
	for (unsigned s = 0; s < list.n_spaces; s++)
		last_ones[s] = find_last_one(s);
}

static void take_census(void)
{
	tables.bytes = 0;
	memset(&census, 0, sizeof(census));
	for (unsigned n = 0; n < TRIES; n++) {
		memset(census.seen, 0, sizeof(census.seen));
		census.next = census.left_out = 0;
		elf_list_begin(&list, elf_list_debug());
		while (elf_list_next(&list))
			count_in(&list.entry);
		if (!list.torn)
			break;
	}
	/* Of a part of the list nothing follows for what is not in it; if that is gone, it will not stand. */
	for (uint32_t i = 0; i < n_objects && !list.torn; i++) {
		census.dropped |= objects[i].entry.at && !census.seen[i];
		objects[i].entry.at = census.seen[i] ? objects[i].entry.at : 0;
	}
	if (census.left_out > left_out)
		__atomic_store_n(&left_out, census.left_out, __ATOMIC_RELAXED);
	sift_rules(census.learned);
	note_last_ones();
	find_interpreter();
	asked = !list.torn;
	asked_ticks = clock_ticks();
}

/* The last one of each namespace may have made room for another one at its place, which nothing else would show. One that could not be
 * learned was about to go: the loader unmaps first, and then takes it from the list. */
static bool last_one_stands(unsigned space)
{
	static struct elf_headers h;
	const struct elf_entry *last = &list.spaces[space].last;

	if (last_ones[space] != STACK_NO_OBJECT)
		return stack_mark_stands(&objects[last_ones[space]].mark);
	return !last->at || !elf_headers_read(&h, &last->map);
}

static bool last_ones_stand(void)
{
	bool stand = true;

	for (unsigned s = 0; s < list.n_spaces && stand; s++)
		stand = last_one_stands(s);
	return stand;
}

/* ---- around a walk ---------------------------------------------------------------------------------------------------- */

void stack_objects_begin(void)
{
	round_now++;
	used.n = 0;
	used.changed = false;
	tables.bytes = 0;
	if (!asked)
		take_census();
}

void stack_objects_use(uint16_t object)
{
	if (object == STACK_NO_OBJECT || objects[object].used == round_now)
		return;
	objects[object].used = round_now;
	if (used.n < USED_MAX)
		used.object[used.n] = object;
	used.n++;
}

static bool all_at_once(void)
{
	static uint8_t read[ELF_END_PIECES * sizeof(struct link_map) + STACK_PIECES * STACK_MARK_BYTES];
	struct stack_piece pieces[STACK_PIECES];
	unsigned n = elf_list_end(&list, pieces), first;
	const uint8_t *p = read;

	if (!n || !asked || used.n > USED_MAX)
		return false;
	stack_objects_use(last_ones[0]);
	if (last_ones[0] == STACK_NO_OBJECT || used.n > USED_MAX)
		return false;
	first = n;
	for (unsigned i = 0; i < used.n; i++)
		pieces[n++] = objects[used.object[i]].mark.piece;
	if (!stack_read_pieces(read, pieces, n) || !elf_list_end_is(&list, read))
		return false;
	for (unsigned i = 0; i < first; i++)
		p += pieces[i].bytes;
	for (unsigned i = 0; i < used.n; p += pieces[first + i++].bytes)
		if (!objects[used.object[i]].entry.at || !stack_mark_is(&objects[used.object[i]].mark, p))
			return false;
	return true;
}

static bool one_by_one(void)
{
	bool hold = asked && elf_list_ends_as_it_did(&list) && last_ones_stand(), gone = false;

	for (uint32_t i = 0; i < n_objects; i++) {
		if (objects[i].used != round_now || (objects[i].entry.at && stack_mark_stands(&objects[i].mark)))
			continue;
		objects[i].entry.at = 0;
		gone = true;
	}
	if (gone)
		sift_rules(true);
	asked = hold && !gone;
	return asked;
}

bool stack_objects_hold(void)
{
	return (all_at_once() || one_by_one()) && !used.changed;
}

/* ---- rules ------------------------------------------------------------------------------------------------------------ */

static uint16_t object_of(uint64_t pc)
{
	for (uint32_t i = 0; i < n_objects; i++)
		if (objects[i].entry.at && stack_object_has(&objects[i], pc))
			return (uint16_t)i;
	return STACK_NO_OBJECT;
}

/* Where one group of objects went and another came, the list's end may be as it was. */
static uint16_t object_of_new(uint64_t pc)
{
	uint16_t object = object_of(pc);

	if (object == STACK_NO_OBJECT && clock_ticks() - asked_ticks > clock_ticks_in(NOWHERE_NS)) {
		take_census();
		used.changed |= census.learned || census.dropped;
		object = object_of(pc);
	}
	return object;
}

struct stack_rule stack_objects_rule(uint64_t pc, uint16_t *object)
{
	struct remembered *r = &rules[(pc * 0x9e3779b97f4a7c15ull >> 40) % RULES & ~1ull];

	if (r[0].pc != pc && r[1].pc != pc) {
		struct remembered now = { .pc = pc, .rule = { .kind = STACK_RULE_NONE }, .object = object_of_new(pc) };

		if (now.object != STACK_NO_OBJECT)
			now.rule = stack_cfi_rule(&objects[now.object].frames, pc);
		r[1] = r[0];
		r[0] = now;
	} else if (r[0].pc != pc) {
		r++;
	}
	*object = r->object;
	return r->rule;
}

/* ---- for others ------------------------------------------------------------------------------------------------------- */

const struct stack_object *stack_object_at(uint16_t object)
{
	return object < n_objects ? &objects[object] : NULL;
}

uint32_t stack_object_id(struct ring *r, uint16_t object)
{
	struct stack_object *o = object < n_objects ? &objects[object] : NULL;

	if (!o || !o->entry.at)
		return 0;
	if (!o->id && stack_object_write(r, o, last_id + 1))
		o->id = ++last_id;
	return o->id;
}

uint16_t stack_objects_python(void)
{
	return python;
}

uint32_t stack_objects_left_out(void)
{
	return __atomic_load_n(&left_out, __ATOMIC_RELAXED);
}

void stack_objects_forget(void)
{
	memset(objects, 0, sizeof(objects));
	memset(rules, 0, sizeof(rules));
	n_objects = left_out = last_id = 0;
	asked = false;
	python = STACK_NO_OBJECT;
}
