/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack_cfi.h"

#include "arch.h"
#include "stack_memory.h"

/* How a pointer is written: the low four bits its form, the next three what it counts from. */
enum { ENC_FORM = 0x0f, ENC_BASE = 0x70, ENC_PCREL = 0x10, ENC_DATAREL = 0x30, ENC_OMIT = 0xff };
#define ENC_TABLE (ENC_DATAREL | 0x0b) /* pairs of 32 bits, counted from .eh_frame_hdr: what linkers write */

#define STATES 8 /* remembered ones */

struct cursor {
	uint64_t at, end;
	const struct stack_cfi *cfi;
	bool bad; /* it went beyond: everything read from it is void */
};

static struct cursor cursor_at(const struct stack_cfi *cfi, uint64_t at, uint64_t bytes)
{
	struct cursor c = { at, at + bytes, cfi, false };

	c.bad = at < cfi->begin || at > cfi->end || bytes > cfi->end - at;
	return c;
}

static uint64_t take(struct cursor *c, unsigned bytes)
{
	uint64_t value = 0;

	if (c->bad || bytes > c->end - c->at || !stack_window_read(c->cfi->window, &value, c->at, bytes)) {
		c->bad = true;
		return 0;
	}
	c->at += bytes;
	return value;
}

static uint64_t take_uleb(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint64_t byte = take(c, 1);

		value |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	c->bad = true;
	return 0;
}

static int64_t take_sleb(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint64_t byte = take(c, 1);

		value |= (byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if ((byte & 0x40) && shift < 57)
			value |= ~0ull << (shift + 7);
		return (int64_t)value;
	}
	c->bad = true;
	return 0;
}

static uint64_t take_encoded(struct cursor *c, unsigned encoding)
{
	uint64_t at = c->at, value;

	switch (encoding & ENC_FORM) {
	case 0x00:
	case 0x04:
	case 0x0c:
		value = take(c, 8);
		break;
	case 0x01:
		value = take_uleb(c);
		break;
	case 0x02:
		value = take(c, 2);
		break;
	case 0x03:
		value = take(c, 4);
		break;
	case 0x09:
		value = (uint64_t)take_sleb(c);
		break;
	case 0x0a:
		value = (uint64_t)(int16_t)take(c, 2);
		break;
	case 0x0b:
		value = (uint64_t)(int32_t)take(c, 4);
		break;
	default:
		c->bad = true;
		return 0;
	}
	if ((encoding & ENC_BASE) == ENC_PCREL)
		value += at;
	else if ((encoding & ENC_BASE) == ENC_DATAREL)
		value += c->cfi->hdr;
	else if (encoding & ENC_BASE)
		c->bad = true;
	return value;
}

/* ---- which table ------------------------------------------------------------------------------------------------------ */

/* The last entry of the sorted table that begins at pc or before: where its description is, 0 none. */
static uint64_t find_fde(const struct stack_cfi *cfi, uint64_t pc)
{
	struct cursor c = cursor_at(cfi, cfi->hdr, cfi->end - cfi->hdr);
	uint64_t version = take(&c, 1), frame_encoding = take(&c, 1), count_encoding = take(&c, 1);
	uint64_t table_encoding = take(&c, 1), count, low = 0, high;

	take_encoded(&c, (unsigned)frame_encoding);
	count = count_encoding == ENC_OMIT ? 0 : take_encoded(&c, (unsigned)count_encoding);
	if (c.bad || version != 1 || table_encoding != ENC_TABLE || !count || count > (c.end - c.at) / 8)
		return 0;
	high = count;
	while (high - low > 1) {
		uint64_t middle = (low + high) / 2;
		struct cursor entry = cursor_at(cfi, c.at + middle * 8, 8);

		if (cfi->hdr + (uint64_t)(int32_t)take(&entry, 4) <= pc)
			low = middle;
		else
			high = middle;
	}
	c = cursor_at(cfi, c.at + low * 8 + 4, 4);
	return cfi->hdr + (uint64_t)(int32_t)take(&c, 4);
}

struct description {
	struct cursor common, own; /* instructions */
	uint64_t begin, bytes;     /* of the code */
	uint64_t code_unit;
	int64_t data_unit;
	bool signal;
};

static bool read_common(const struct stack_cfi *cfi, uint64_t at, struct description *d, unsigned *encoding,
			bool *sized)
{
	struct cursor c = cursor_at(cfi, at, 4);
	uint64_t bytes = take(&c, 4), version;
	char how[16] = "";
	unsigned n = 0;

	c = cursor_at(cfi, at + 4, bytes);
	if (take(&c, 4) != 0)
		return false;
	version = take(&c, 1);
	while (n < sizeof(how) && (how[n] = (char)take(&c, 1)))
		n++;
	d->code_unit = take_uleb(&c);
	d->data_unit = take_sleb(&c);
	if ((version == 1 ? take(&c, 1) : take_uleb(&c)) != ARCH_DWARF_RA || (version != 1 && version != 3) ||
	    n == sizeof(how) || (n && how[0] != 'z'))
		return false;
	*encoding = 0;
	*sized = n;
	d->common = c;
	if (n) {
		uint64_t more = take_uleb(&c);

		d->common = cursor_at(cfi, c.at + more, c.end - c.at >= more ? c.end - c.at - more : 0);
	}
	for (unsigned i = 1; i < n; i++) {
		if (how[i] == 'R')
			*encoding = (unsigned)take(&c, 1);
		else if (how[i] == 'P') {
			uint64_t its = take(&c, 1);

			take_encoded(&c, its & ~0x80u & ~(unsigned)ENC_BASE);
		} else if (how[i] == 'L')
			take(&c, 1);
		else if (how[i] == 'S')
			d->signal = true;
	}
	return !c.bad && !d->common.bad;
}

static bool describe(const struct stack_cfi *cfi, uint64_t at, struct description *d)
{
	struct cursor c = cursor_at(cfi, at, 4);
	uint64_t bytes = take(&c, 4), back;
	unsigned encoding;
	bool sized;

	c = cursor_at(cfi, at + 4, bytes);
	back = take(&c, 4);
	if (c.bad || !back || !read_common(cfi, at + 4 - back, d, &encoding, &sized))
		return false;
	d->begin = take_encoded(&c, encoding);
	d->bytes = take_encoded(&c, encoding & ENC_FORM);
	if (sized) {
		uint64_t more = take_uleb(&c);

		if (more > c.end - c.at)
			return false;
		c.at += more;
	}
	d->own = c;
	return !c.bad;
}

/* ---- what it says ----------------------------------------------------------------------------------------------------- */

enum place { SAME, AT, NOWHERE, UNDERSTOOD_NOT };

struct saved {
	enum place place;
	int64_t offset;
};

struct state {
	uint64_t reg; /* the frame ends at this register … */
	int64_t offset;
	bool computed; /* … or by an expression */
	struct saved fp, ra;
};

static void set(struct state *s, uint64_t reg, enum place place, int64_t offset)
{
	if (reg == ARCH_DWARF_FP)
		s->fp = (struct saved){ place, offset };
	else if (reg == ARCH_DWARF_RA)
		s->ra = (struct saved){ place, offset };
}

static void restore(struct state *s, const struct state *initial, uint64_t reg)
{
	if (reg == ARCH_DWARF_FP)
		s->fp = initial->fp;
	else if (reg == ARCH_DWARF_RA)
		s->ra = initial->ra;
}

struct run {
	const struct description *d;
	struct state now, initial, remembered[STATES];
	unsigned n_remembered;
	uint64_t location, pc;
};

static void skip_block(struct cursor *c)
{
	uint64_t bytes = take_uleb(c);

	if (bytes > c->end - c->at)
		c->bad = true;
	else
		c->at += bytes;
}

/* Those with their operand in the two highest bits' byte, and those that move on. */
static bool step_packed(struct run *r, struct cursor *c, unsigned op)
{
	switch (op & 0xc0) {
	case 0x40:
		r->location += (op & 0x3f) * r->d->code_unit;
		return true;
	case 0x80:
		set(&r->now, op & 0x3f, AT, (int64_t)take_uleb(c) * r->d->data_unit);
		return true;
	case 0xc0:
		restore(&r->now, &r->initial, op & 0x3f);
		return true;
	}
	if (op >= 0x02 && op <= 0x04) {
		r->location += take(c, 1u << (op - 2)) * r->d->code_unit;
		return true;
	}
	return false;
}

/* What linkers write of x86-64's procedure linkage table, whose entries push once on their way: the stack pointer + 8, + 8 more from
 * the entry's N-th byte on. */
static bool is_linkage_table(struct cursor c, uint64_t bytes, unsigned *n)
{
	static const uint8_t known[] = { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x30, 0x2a, 0x33, 0x24, 0x22 };
	bool same = ARCH_RA_ON_STACK && bytes == sizeof(known);

	for (unsigned i = 0; same && i < sizeof(known); i++) {
		unsigned byte = (unsigned)take(&c, 1);

		if (i == 6)
			*n = byte - known[i];
		else
			same = byte == known[i];
	}
	return same && *n < 16;
}

static void by_expression(struct run *r, struct cursor *c)
{
	struct cursor block = *c;
	uint64_t bytes = take_uleb(&block);
	unsigned n = 0;

	r->now.computed = !is_linkage_table(block, bytes, &n);
	r->now.reg = ARCH_DWARF_SP;
	r->now.offset = (r->pc & 15) >= n ? 16 : 8;
	skip_block(c);
}

static void step_frame_end(struct run *r, struct cursor *c, unsigned op)
{
	struct state *s = &r->now;

	switch (op) {
	case 0x0c: /* def_cfa */
		s->reg = take_uleb(c);
		s->offset = (int64_t)take_uleb(c);
		s->computed = false;
		break;
	case 0x0d: /* def_cfa_register */
		s->reg = take_uleb(c);
		s->computed = false;
		break;
	case 0x0e: /* def_cfa_offset */
		s->offset = (int64_t)take_uleb(c);
		break;
	case 0x0f: /* def_cfa_expression */
		by_expression(r, c);
		break;
	case 0x12: /* def_cfa_sf */
		s->reg = take_uleb(c);
		s->offset = take_sleb(c) * r->d->data_unit;
		s->computed = false;
		break;
	case 0x13: /* def_cfa_offset_sf */
		s->offset = take_sleb(c) * r->d->data_unit;
		break;
	default:
		c->bad = true;
	}
}

static void step(struct run *r, struct cursor *c)
{
	unsigned op = (unsigned)take(c, 1);
	uint64_t reg;

	if (step_packed(r, c, op))
		return;
	switch (op) {
	case 0x00: /* nop */
		break;
	case 0x05: /* offset_extended */
		reg = take_uleb(c);
		set(&r->now, reg, AT, (int64_t)take_uleb(c) * r->d->data_unit);
		break;
	case 0x11: /* offset_extended_sf */
		reg = take_uleb(c);
		set(&r->now, reg, AT, take_sleb(c) * r->d->data_unit);
		break;
	case 0x06: /* restore_extended */
		restore(&r->now, &r->initial, take_uleb(c));
		break;
	case 0x07: /* undefined */
		set(&r->now, take_uleb(c), NOWHERE, 0);
		break;
	case 0x08: /* same_value */
		set(&r->now, take_uleb(c), SAME, 0);
		break;
	case 0x09: /* register */
	case 0x14: /* val_offset */
	case 0x15: /* val_offset_sf */
		set(&r->now, take_uleb(c), UNDERSTOOD_NOT, 0);
		take_uleb(c);
		break;
	case 0x10: /* expression */
	case 0x16: /* val_expression */
		set(&r->now, take_uleb(c), UNDERSTOOD_NOT, 0);
		skip_block(c);
		break;
	case 0x0a: /* remember_state */
		if (r->n_remembered == STATES)
			c->bad = true;
		else
			r->remembered[r->n_remembered++] = r->now;
		break;
	case 0x0b: /* restore_state */
		if (!r->n_remembered)
			c->bad = true;
		else
			r->now = r->remembered[--r->n_remembered];
		break;
	case 0x2d: /* aarch64: the return address is signed from here on, or no longer */
		break;
	case 0x2e: /* args_size */
		take_uleb(c);
		break;
	default:
		step_frame_end(r, c, op);
	}
}

/* Up to the place that holds at pc. */
static bool run(struct run *r, struct cursor c)
{
	while (!c.bad && c.at < c.end && r->location <= r->pc)
		step(r, &c);
	return !c.bad;
}

static bool fits(struct saved s)
{
	return s.place != AT || (s.offset > INT16_MIN && s.offset <= INT16_MAX);
}

static struct stack_rule as_rule(const struct state *s)
{
	struct stack_rule rule = { .kind = STACK_RULE_NONE, .fp = STACK_RULE_SAME, .ra = STACK_RULE_SAME };

	if (s->ra.place == NOWHERE) {
		rule.kind = STACK_RULE_END;
		return rule;
	}
	if (s->computed || (s->reg != ARCH_DWARF_SP && s->reg != ARCH_DWARF_FP) || s->offset != (int32_t)s->offset ||
	    !fits(s->fp) || !fits(s->ra) || s->ra.place == UNDERSTOOD_NOT || (ARCH_RA_ON_STACK && s->ra.place == SAME))
		return rule;
	rule.kind = s->reg == ARCH_DWARF_SP ? STACK_RULE_SP : STACK_RULE_FP;
	rule.cfa = (int32_t)s->offset;
	if (s->fp.place == AT)
		rule.fp = (int16_t)s->fp.offset;
	if (s->ra.place == AT)
		rule.ra = (int16_t)s->ra.offset;
	return rule;
}

struct stack_rule stack_cfi_rule(const struct stack_cfi *cfi, uint64_t pc)
{
	struct description d = { .signal = false };
	struct run r = { .d = &d, .pc = pc };
	uint64_t fde = cfi->hdr ? find_fde(cfi, pc) : 0;

	if (!fde || !describe(cfi, fde, &d) || pc < d.begin || pc - d.begin >= d.bytes)
		return (struct stack_rule){ .kind = STACK_RULE_NONE };
	if (d.signal)
		return (struct stack_rule){ .kind = STACK_RULE_SIGNAL };
	if (!run(&r, d.common))
		return (struct stack_rule){ .kind = STACK_RULE_NONE };
	r.initial = r.now;
	r.location = d.begin;
	if (!run(&r, d.own))
		return (struct stack_rule){ .kind = STACK_RULE_NONE };
	return as_rule(&r.now);
}
