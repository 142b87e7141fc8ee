/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader meets every file: whole, live, killed, cut short, flipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "read/reader.h"
#include "tests/support/gst_image.h"
#include "tests/unit/fewer.h"
#include "trace/trace.h"

#define SEGMENT_0 GST_SEGMENTS_OFFSET
#define SEGMENT_1 (GST_SEGMENTS_OFFSET + GST_SEGMENT_BYTES)

/* Two segments: five calls in the first, two in the second. Call k ends at 1 s + 10 k us. */
static struct gst_image make_image(void)
{
	struct gst_image image;

	assert_true(gst_image_new(&image));
	assert_true(gst_image_segment(&image, 11, "main"));
	assert_true(gst_image_name(&image, GST_SPACE_HOOK, 3, "cuLaunchKernel", 14));
	for (uint64_t k = 1; k <= 7; k++) {
		struct gst_call call = { .begin = 1000000000 + k * 10000 - 2000,
					 .end = 1000000000 + k * 10000,
					 .hook = 3,
					 .stream = GST_NONE,
					 .seq = (uint32_t)k,
					 .family = GST_FAMILY_OTHER };

		if (k == 6) {
			image.last_ticks = 1000000000 + 55000;
			assert_true(gst_image_segment(&image, 12, "other"));
		}
		assert_true(gst_image_add(&image, GST_CALL, &call, sizeof(call), true));
	}
	return image;
}

/* Where call k (1 … 7) lies in the file. */
static uint64_t call_byte(int k)
{
	return k <= 5 ? SEGMENT_0 + 64 + 32 + 64 * (uint64_t)(k - 1) : SEGMENT_1 + 64 + 64 * (uint64_t)(k - 6);
}

struct outcome {
	enum err_kind opened; /* or the error of opening it */
	bool damaged;
	uint64_t byte, cut;
	size_t records;
	uint64_t unfinished;
};

static struct outcome read_all(const void *bytes, size_t len)
{
	struct outcome o = { 0 };
	struct reader *r;
	struct record_view v;
	struct error e = { 0 };

	o.opened = reader_open_mem(&r, bytes, len, "test.gst", &e);
	if (o.opened != ERR_NONE) {
		o.byte = e.byte;
		assert_null(r);
		assert_int_equal(e.kind, o.opened);
		return o;
	}
	while (reader_next(r, &v)) {
		assert_in_range(v.byte, SEGMENT_0, len);
		assert_true(v.byte + v.record->size <= len);
		o.records++;
	}
	o.unfinished = reader_counts(r).unfinished;
	if (reader_damage(r)) {
		o.damaged = true;
		o.byte = reader_damage(r)->error.byte;
		o.cut = reader_damage(r)->cut_ticks;
		assert_int_equal(reader_damage(r)->error.kind, ERR_FORMAT);
		assert_string_not_equal(reader_damage(r)->error.text, "");
	}
	reader_free(r);
	return o;
}

static void whole_file_is_sound(void **state)
{
	struct gst_image image = make_image();
	struct outcome o = read_all(image.bytes, image.len);

	(void)state;
	assert_int_equal(o.opened, ERR_NONE);
	assert_false(o.damaged);
	assert_int_equal(o.records, 8);
	gst_image_free(&image);
}

static void unfinished_record_is_skipped(void **state)
{
	struct gst_image image = make_image();
	struct gst_record *last = (void *)(image.bytes + call_byte(7));
	struct outcome o;

	(void)state;
	last->commit = 0;
	o = read_all(image.bytes, image.len);
	assert_false(o.damaged);
	assert_int_equal(o.records, 7);
	gst_image_free(&image);
}

static void unknown_type_is_skipped_by_its_size(void **state)
{
	struct gst_image image = make_image();
	uint8_t later[48] = { 0 };
	struct outcome o;

	(void)state;
	assert_true(gst_image_add(&image, 999, later, sizeof(later), true));
	assert_true(gst_image_name(&image, GST_SPACE_KERNEL, 1, "k", 1));
	o = read_all(image.bytes, image.len);
	assert_false(o.damaged);
	assert_int_equal(o.records, 9);
	gst_image_free(&image);
}

static void unused_directory_entry_between_segments_is_fine(void **state)
{
	struct gst_image image = make_image();
	uint32_t *directory = (void *)(image.bytes + GST_DIRECTORY_OFFSET);
	struct outcome o;

	(void)state;
	directory[0] = 0;
	o = read_all(image.bytes, image.len);
	assert_false(o.damaged);
	assert_int_equal(o.records, 2);
	gst_image_free(&image);
}

/* As the recorder's stock leaves it: the third segment of a thread lies before its second. */
static void a_thread_is_read_in_its_own_order(void **state)
{
	static const uint32_t previous[] = { GST_NONE, 2, 0 };
	static const uint32_t lies_at[] = { 0, 2, 1 };
	struct gst_image image;
	struct record_view v;
	struct reader *r;
	struct error e;

	(void)state;
	assert_true(gst_image_new(&image));
	for (uint32_t i = 0; i < 3; i++) {
		struct gst_segment_header *h;

		assert_true(gst_image_segment(&image, 11, "main"));
		h = (void *)(image.bytes + GST_SEGMENTS_OFFSET + (size_t)i * GST_SEGMENT_BYTES);
		h->previous = previous[i];
		h->check = gst_hash32(h, sizeof(*h), offsetof(struct gst_segment_header, check));
		assert_true(gst_image_name(&image, GST_SPACE_KERNEL, i + 1, "k", 1));
	}
	assert_int_equal(reader_open_mem(&r, image.bytes, image.len, "image", &e), ERR_NONE);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(reader_next(r, &v));
		assert_int_equal(v.segment, lies_at[i]);
		assert_int_equal(((const struct gst_name *)v.record)->id, lies_at[i] + 1);
	}
	assert_false(reader_next(r, &v));
	reader_free(r);
	gst_image_free(&image);
}

/* Every flip of one bit in a place that has a check is an error or damage at that place's byte. */
static void expect_flip(struct gst_image *image, uint64_t at, uint64_t want_byte, bool open_fails)
{
	for (int bit = 0; bit < 8; bit++) {
		struct outcome o;

		image->bytes[at] ^= (uint8_t)(1 << bit);
		o = read_all(image->bytes, image->len);
		if (open_fails ? o.opened != ERR_FORMAT : o.opened != ERR_NONE || !o.damaged)
			fail_msg("flip of bit %d at byte %llu went unseen", bit, (unsigned long long)at);
		if (o.byte != want_byte)
			fail_msg("flip at byte %llu reported at %llu", (unsigned long long)at,
				 (unsigned long long)o.byte);
		image->bytes[at] ^= (uint8_t)(1 << bit);
	}
}

static void flip_in_file_header_refuses_the_file(void **state)
{
	struct gst_image image = make_image();

	(void)state;
	for (uint64_t at = 0; at < GST_HEADER_BYTES; at += at < 128 ? 1 : 61)
		expect_flip(&image, at, 0, true);
	gst_image_free(&image);
}

static void flip_in_directory_is_damage_there(void **state)
{
	struct gst_image image = make_image();

	(void)state;
	for (uint64_t at = GST_DIRECTORY_OFFSET; at < GST_SEGMENTS_OFFSET;
	     at += at < GST_DIRECTORY_OFFSET + 64 ? 1 : 4093 * FEWER_BY)
		expect_flip(&image, at, at / 4 * 4, false);
	gst_image_free(&image);
}

static void flip_in_segment_header_is_damage_there(void **state)
{
	struct gst_image image = make_image();

	(void)state;
	for (uint64_t at = 0; at < sizeof(struct gst_segment_header); at++) {
		expect_flip(&image, SEGMENT_0 + at, SEGMENT_0, false);
		expect_flip(&image, SEGMENT_1 + at, SEGMENT_1, false);
	}
	gst_image_free(&image);
}

static void flip_in_record_header_is_damage_there(void **state)
{
	struct gst_image image = make_image();

	(void)state;
	for (int k = 1; k <= 7; k++)
		for (uint64_t at = 0; at < sizeof(struct gst_record); at++)
			expect_flip(&image, call_byte(k) + at, call_byte(k), false);
	gst_image_free(&image);
}

/* One flip anywhere else may change what is said, but never whether it can be read. */
static void flip_in_payload_is_no_damage(void **state)
{
	struct gst_image image = make_image();

	(void)state;
	for (uint64_t at = call_byte(1); at < call_byte(6); at++) {
		uint64_t in_record = (at - call_byte(1)) % 64;
		struct outcome o;

		if (at >= call_byte(5) + 64 || in_record < 8)
			continue;
		image.bytes[at] ^= 0x40;
		o = read_all(image.bytes, image.len);
		assert_int_equal(o.opened, ERR_NONE);
		assert_false(o.damaged);
		image.bytes[at] ^= 0x40;
	}
	gst_image_free(&image);
}

static void damage_cuts_at_the_last_good_record(void **state)
{
	struct gst_image image = make_image();
	struct trace *t;
	struct error e;

	(void)state;
	image.bytes[call_byte(4)] ^= 1;
	assert_int_equal(trace_open_mem(&t, image.bytes, image.len, "test.gst", &e), ERR_NONE);
	assert_int_equal(t->damage.kind, ERR_FORMAT);
	assert_int_equal(t->damage.byte, call_byte(4));
	assert_int_equal(t->cut_ns, 1000030000);
	assert_int_equal(t->n_calls, 3); /* 5 was lost, 6 and 7 lie behind the cut */
	assert_int_equal(t->end_ns, 1000030000);
	trace_free(t);
	gst_image_free(&image);
}

/* Records that lie in the first len bytes as a whole, counted without the reader. */
static size_t whole_records(const struct gst_image *image, size_t len)
{
	size_t n = 0;

	for (size_t segment = SEGMENT_0; segment < image->len; segment += GST_SEGMENT_BYTES) {
		for (size_t at = segment + sizeof(struct gst_segment_header); at < segment + GST_SEGMENT_BYTES;) {
			const struct gst_record *r = (const void *)(image->bytes + at);

			if (!r->size)
				break;
			at += r->size;
			n += at <= len;
		}
	}
	return n;
}

/* Lengths on both sides of every border, and a stride that meets every alignment. */
static void truncation_anywhere_is_reported(void **state)
{
	struct gst_image image = make_image();

	(void)state;
	for (size_t len = 0; len < image.len; len += len < 8300 || len > image.len - 100 ? FEWER_BY : 997) {
		struct outcome o = read_all(image.bytes, len);

		if (len < GST_HEADER_BYTES) {
			assert_int_equal(o.opened, ERR_FORMAT);
			continue;
		}
		assert_int_equal(o.opened, ERR_NONE);
		assert_true(o.damaged);
		assert_int_equal(o.byte, len);
		assert_int_equal(o.records, whole_records(&image, len));
		if (len < SEGMENT_0 + sizeof(struct gst_segment_header))
			assert_int_equal(o.cut, 1000000000); /* nothing is known of what was lost */
	}
	gst_image_free(&image);
}

/* Somebody jumped out of an append before it had a header. */
static void empty_room_between_records_is_one_record_that_was_not_finished(void **state)
{
	struct gst_image image = make_image();
	struct outcome whole = read_all(image.bytes, image.len), o;
	struct gst_record *r = (void *)(image.bytes + call_byte(3));

	(void)state;
	memset(r, 0, r->size);
	o = read_all(image.bytes, image.len);
	assert_false(o.damaged);
	assert_int_equal(o.records, whole.records - 1);
	assert_int_equal(o.unfinished, whole.unfinished + 1);
	gst_image_free(&image);
}

static void record_larger_than_its_segment_is_damage(void **state)
{
	struct gst_image image = make_image();
	struct gst_record *r = (void *)(image.bytes + call_byte(3));
	struct outcome o;

	(void)state;
	r->size = 65528;
	r->type = 77;
	r->check = gst_record_check(r->type, r->size, (uint32_t)(call_byte(3) - SEGMENT_0));
	o = read_all(image.bytes, image.len); /* an unknown type with a valid check: skipped */
	assert_false(o.damaged);
	r->size = 65535;
	r->check = gst_record_check(r->type, r->size, (uint32_t)(call_byte(3) - SEGMENT_0));
	o = read_all(image.bytes, image.len);
	assert_true(o.damaged);
	assert_int_equal(o.byte, call_byte(3));
	gst_image_free(&image);
}

static void name_longer_than_its_record_is_damage(void **state)
{
	struct gst_image image = make_image();
	struct gst_name *name = (void *)(image.bytes + SEGMENT_0 + 64);
	struct outcome o;

	(void)state;
	name->length = 17;
	o = read_all(image.bytes, image.len);
	assert_true(o.damaged);
	assert_int_equal(o.byte, SEGMENT_0 + 64);
	gst_image_free(&image);
}

static void other_files_are_refused(void **state)
{
	struct outcome o = read_all("{\"traceEvents\": []}", 19);

	(void)state;
	assert_int_equal(o.opened, ERR_FORMAT);
	assert_int_equal(read_all("", 0).opened, ERR_FORMAT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_file_is_sound),
		cmocka_unit_test(unfinished_record_is_skipped),
		cmocka_unit_test(unknown_type_is_skipped_by_its_size),
		cmocka_unit_test(unused_directory_entry_between_segments_is_fine),
		cmocka_unit_test(a_thread_is_read_in_its_own_order),
		cmocka_unit_test(flip_in_file_header_refuses_the_file),
		cmocka_unit_test(flip_in_directory_is_damage_there),
		cmocka_unit_test(flip_in_segment_header_is_damage_there),
		cmocka_unit_test(flip_in_record_header_is_damage_there),
		cmocka_unit_test(flip_in_payload_is_no_damage),
		cmocka_unit_test(damage_cuts_at_the_last_good_record),
		cmocka_unit_test(truncation_anywhere_is_reported),
		cmocka_unit_test(empty_room_between_records_is_one_record_that_was_not_finished),
		cmocka_unit_test(record_larger_than_its_segment_is_damage),
		cmocka_unit_test(name_longer_than_its_record_is_damage),
		cmocka_unit_test(other_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
