/* SPDX-License-Identifier: BSD-2-Clause */
/* test_export_perfetto.c: the sequences of a Perfetto trace, read back field by field. What whole traces hold: tests/scripts/test_perfetto.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export/export_perfetto_parts.h"

#define BASE_NS 1000000

struct file {
	struct sequences s;
	char *bytes;
	size_t n;
};

static void begin(struct file *f)
{
	*f = (struct file){ .s.base_ns = BASE_NS };
	f->s.out = open_memstream(&f->bytes, &f->n);
}

static void end(struct file *f)
{
	assert_false(f->s.failed);
	fclose(f->s.out);
	sequences_free(&f->s);
}

static uint64_t varint(const uint8_t **p)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		value |= (uint64_t)(**p & 0x7f) << shift;
		if (!(*(*p)++ & 0x80))
			return value;
	}
}

/* The message's n-th field of that number: its value, or where its bytes are. False: it has no such. */
struct field {
	uint64_t value; /* length, where it has bytes */
	const uint8_t *at;
};

static bool field(const uint8_t *at, size_t bytes, uint32_t number, size_t n, struct field *out)
{
	const uint8_t *stop = at + bytes;

	while (at < stop) {
		uint64_t tag = varint(&at);

		out->value = (tag & 7) == 1 ? 8 : varint(&at);
		out->at = at;
		at += (tag & 7) == 0 ? 0 : out->value;
		if (tag >> 3 == number && n-- == 0)
			return true;
	}
	return false;
}

static bool inside(struct field *f, uint32_t number, size_t n)
{
	return field(f->at, f->value, number, n, f);
}

static struct field packet(const struct file *f, size_t n)
{
	struct field p;

	assert_true(field((const uint8_t *)f->bytes, f->n, TRACE_PACKET, n, &p));
	return p;
}

static bool has(struct field p, uint32_t number)
{
	return inside(&p, number, 0);
}

static uint64_t number(struct field p, uint32_t field_number)
{
	assert_true(inside(&p, field_number, 0));
	return p.value;
}

/* Where its clock stands, by a state. */
static uint64_t state_clock(struct field p)
{
	struct field builtin;

	assert_int_equal(number(p, PACKET_FLAGS), CLEARED);
	assert_true(inside(&p, PACKET_CLOCK_SNAPSHOT, 0));
	builtin = p;
	assert_true(inside(&builtin, SNAPSHOT_CLOCK, 0) && inside(&p, SNAPSHOT_CLOCK, 1));
	assert_int_equal(number(builtin, CLOCK_ID), MONOTONIC);
	assert_int_equal(number(p, CLOCK_ID), FROM_LAST);
	assert_int_equal(number(p, CLOCK_INCREMENTAL), 1);
	assert_int_equal(number(p, CLOCK_TIMESTAMP), number(builtin, CLOCK_TIMESTAMP));
	return number(p, CLOCK_TIMESTAMP);
}

static void event(struct sequences *s, uint32_t tid, int64_t at_ns, const char *name)
{
	bool is_new;
	struct sequence *q = sequence_get(s, 1, tid, 0, &is_new);

	event_open(s, q);
	pb_uint(&s->event, EVENT_NAME, event_text(s, q, NAMES, name));
	event_close(s, q, at_ns);
}

static void test_times_count_from_packet_to_packet(void **state)
{
	struct file f;

	(void)state;
	begin(&f);
	event(&f.s, 1, 500, "a");
	event(&f.s, 2, 300, "a"); /* a sequence of its own */
	event(&f.s, 1, 500, "a");
	event(&f.s, 1, 1500, "b");
	event(&f.s, 1, 700, "a"); /* out of order: the other clock, and this one stands where it stood */
	event(&f.s, 1, 1501, "a");
	end(&f);
	assert_int_equal(state_clock(packet(&f, 0)), BASE_NS);
	assert_int_equal(number(packet(&f, 1), PACKET_TIMESTAMP), 500);
	assert_int_equal(state_clock(packet(&f, 2)), BASE_NS);
	assert_int_equal(number(packet(&f, 3), PACKET_TIMESTAMP), 300);
	assert_int_equal(number(packet(&f, 4), PACKET_TIMESTAMP), 0);
	assert_int_equal(number(packet(&f, 5), PACKET_TIMESTAMP), 1000);
	assert_int_equal(number(packet(&f, 6), PACKET_TIMESTAMP), BASE_NS + 700);
	assert_int_equal(number(packet(&f, 6), PACKET_CLOCK), MONOTONIC);
	assert_int_equal(number(packet(&f, 7), PACKET_TIMESTAMP), 1);
	assert_false(has(packet(&f, 7), PACKET_CLOCK));
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(number(packet(&f, i), PACKET_SEQUENCE), i == 2 || i == 3 ? 3 : 2);
	/* texts: with the first event that has them, of each sequence */
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(has(packet(&f, i), PACKET_INTERNED), i == 1 || i == 3 || i == 5);
	free(f.bytes);
}

/* Whoever reads it keeps no more texts than we do; the numbers begin anew, and the clock goes on. */
static void test_a_sequence_with_too_many_texts_begins_anew(void **state)
{
	struct file f;
	uint64_t now = 0;
	size_t states = 0, events = 0;
	char name[32];

	(void)state;
	begin(&f);
	for (int i = 0; i < 3 * INTERNED_MOST; i++) {
		snprintf(name, sizeof(name), "kernel %d", i);
		event(&f.s, 1, (int64_t)10 * i, name);
	}
	end(&f);
	for (size_t left = f.n, i = 0; left; i++) {
		struct field p;
		const uint8_t *at = (const uint8_t *)f.bytes + f.n - left;

		assert_true(field(at, left, TRACE_PACKET, 0, &p));
		left -= (size_t)(p.at + p.value - at);
		if (has(p, PACKET_FLAGS)) {
			assert_true(!states || now == state_clock(p));
			assert_int_equal(i, states++ * (INTERNED_MOST + 1));
			now = state_clock(p);
			continue;
		}
		now += number(p, PACKET_TIMESTAMP);
		assert_int_equal(now, BASE_NS + 10 * events++);
		assert_true(inside(&p, PACKET_EVENT, 0));
		assert_int_equal(number(p, EVENT_NAME), (events - 1) % INTERNED_MOST + 1);
	}
	assert_int_equal(states, 3);
	assert_int_equal(events, 3 * INTERNED_MOST);
	free(f.bytes);
}

static void test_tracks_are_found_again(void **state)
{
	struct file f;
	bool is_new;

	(void)state;
	begin(&f);
	for (unsigned again = 0; again < 2; again++)
		for (uint32_t pid = 0; pid < 20; pid++)
			for (uint32_t tid = 0; tid < 50; tid++) {
				struct sequence *q = sequence_get(&f.s, pid, tid, tid % 3, &is_new);

				assert_int_equal(is_new, !again);
				assert_int_equal(q->id, 2 + 50 * pid + tid);
				assert_int_equal(q->uuid, sequence_uuid(&f.s, pid, tid, tid % 3));
			}
	end(&f);
	free(f.bytes);
}

/* The innermost first, each at its time; what is open still stays so. */
static void test_slices_end_in_order(void **state)
{
	static const int64_t ends[] = { 900, 500, 500, 400 };
	struct file f;
	struct sequence *q;
	bool is_new;

	(void)state;
	begin(&f);
	q = sequence_get(&f.s, 1, 1, 0, &is_new);
	q->ends = malloc(sizeof(ends));
	memcpy(q->ends, ends, sizeof(ends));
	q->n = q->cap = 4;
	slices_end(&f.s, q, 399);
	assert_int_equal(q->n, 4);
	slices_end(&f.s, q, 500);
	assert_int_equal(q->n, 1);
	end(&f);
	assert_int_equal(number(packet(&f, 1), PACKET_TIMESTAMP), 400);
	assert_int_equal(number(packet(&f, 2), PACKET_TIMESTAMP), 100);
	assert_int_equal(number(packet(&f, 3), PACKET_TIMESTAMP), 0);
	free(f.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times_count_from_packet_to_packet),
		cmocka_unit_test(test_a_sequence_with_too_many_texts_begins_anew),
		cmocka_unit_test(test_tracks_are_found_again),
		cmocka_unit_test(test_slices_end_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
