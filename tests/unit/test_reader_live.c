/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader on files that change under it, and on files whose oldest segments were given up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader_sound.h"
#include "tests/support/gst_image.h"
#include "trace/trace.h"

static char path[] = "/tmp/test_reader_live_XXXXXX";

/* Three segments of one thread, each with ten calls, none ended regularly: the recorder may go on. */
static struct gst_image make_image(void)
{
	struct gst_image image;

	assert_true(gst_image_new(&image));
	for (uint32_t s = 0; s < 3; s++) {
		const struct gst_segment_header more = { .previous = s ? s - 1 : GST_NONE, .thread_seq = s };

		image.last_ticks = 1000000000 + s * 1000000ull;
		assert_true(gst_image_segment_as(&image, 11, "main", &more));
		for (uint64_t k = 1; k <= 10; k++) {
			struct gst_call call = { .begin = image.last_ticks + k * 1000,
						 .end = image.last_ticks + k * 1000 + 500,
						 .stream = GST_NONE,
						 .family = GST_FAMILY_OTHER };

			assert_true(gst_image_add(&image, GST_CALL, &call, sizeof(call), true));
		}
	}
	return image;
}

static void write_file(const struct gst_image *image)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CREAT, 0600);

	assert_true(fd >= 0 && write(fd, image->bytes, image->len) == (ssize_t)image->len);
	close(fd);
}

/* As the recorder does it: the version, the counters, the directory, the header. */
static void give_up(struct gst_image *image, uint32_t segment, uint64_t until)
{
	gst_image_header(image)->version = GST_VERSION_RECYCLED;
	gst_image_seal(image);
	gst_image_counters(image)->recycled_until = until;
	gst_image_counters(image)->segments_recycled++;
	gst_image_give_up(image, segment);
}

static size_t rest(struct reader *r)
{
	struct record_view v;
	size_t n = 0;

	while (reader_next(r, &v))
		n++;
	return n;
}

static void a_segment_given_up_meanwhile_is_left_out(void **state)
{
	struct gst_image image = make_image();
	struct record_view v;
	struct reader *r;
	struct error e;

	(void)state;
	write_file(&image);
	assert_int_equal(reader_open(&r, path, &e), ERR_NONE);
	assert_true(reader_next(r, &v)); /* the first segment is being read */
	give_up(&image, 0, 1000500000);
	give_up(&image, 1, 1001500000);
	write_file(&image);
	assert_int_equal(rest(r), 9 + 10); /* of the first, and the third */
	assert_int_equal(reader_counts(r).given_up, 1);
	assert_sound(r);
	reader_rewind(r);
	assert_int_equal(rest(r), 10);
	assert_int_equal(reader_settle(r, &e), ERR_NONE);
	assert_int_equal(reader_counters(r)->recycled_until, 1001500000);
	reader_free(r);
	gst_image_free(&image);
}

static void one_that_is_used_again_is_another_one(void **state)
{
	struct gst_image image = make_image(), later = make_image();
	struct gst_segment_header *s = (void *)(later.bytes + GST_SEGMENTS_OFFSET + GST_SEGMENT_BYTES);
	struct record_view v;
	struct reader *r;
	struct error e;

	(void)state;
	write_file(&image);
	assert_int_equal(reader_open(&r, path, &e), ERR_NONE);
	assert_true(reader_next(r, &v));
	s->recycles = 1;
	s->begin_ticks = 1005000000;
	s->check = gst_hash32(s, sizeof(*s), offsetof(struct gst_segment_header, check));
	write_file(&later);
	assert_int_equal(rest(r), 9 + 10);
	reader_free(r);
	gst_image_free(&image);
	gst_image_free(&later);
}

/* ---- a record that is written while its segment is copied ---------------------------------------------- */

ssize_t __real_pread(int fd, void *to, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *to, size_t size, off_t at);

static struct {
	size_t from, to; /* of the segment; these bytes were copied before they were written; equal: none */
	bool torn;       /* it has happened */
} tear;

static unsigned half_headers; /* read so often while they are written */
static unsigned half_signed;  /* … the second segment's */

ssize_t __wrap_pread(int fd, void *to, size_t size, off_t at)
{
	ssize_t got = __real_pread(fd, to, size, at);

	if (at == 0 && half_headers && size == sizeof(struct gst_file_header)) {
		half_headers--;
		memset((char *)to + offsetof(struct gst_file_header, cmdline), 'x', 8);
	}
	if (at == (off_t)(GST_SEGMENTS_OFFSET + GST_SEGMENT_BYTES) && half_signed &&
	    size == sizeof(struct gst_segment_header)) {
		half_signed--;
		memset((char *)to + offsetof(struct gst_segment_header, begin_ticks), 'x', 8);
	}
	if (tear.from < tear.to && !tear.torn && size == GST_SEGMENT_BYTES &&
	    at == (off_t)(GST_SEGMENTS_OFFSET + 2 * GST_SEGMENT_BYTES)) {
		memset((char *)to + tear.from, 0, tear.to - tear.from);
		tear.torn = true;
	}
	return got;
}

/* Of host probes alone: a process's is never written again but for its version. */
static void a_header_that_is_being_written_is_read_again(void **state)
{
	struct gst_image image = make_image();
	struct reader *r;
	struct error e;

	(void)state;
	for (int host = 0; host < 2; host++) {
		gst_image_header(&image)->kind = host ? GST_FILE_HOST : 0;
		gst_image_seal(&image);
		write_file(&image);
		half_headers = 1;
		assert_int_equal(reader_open(&r, path, &e), host ? ERR_NONE : ERR_FORMAT);
		if (host)
			reader_free(r);
		half_headers = 100; /* it is damaged */
		assert_int_equal(reader_open(&r, path, &e), ERR_FORMAT);
		assert_int_equal(half_headers, host ? 100 - 4 : 100 - 1);
		half_headers = 0;
	}
	gst_image_free(&image);
}

/* It was given up after the directory was read, and is somebody's again before the directory is looked at once more. */
static void one_that_is_begun_again_meanwhile_is_left_out(void **state)
{
	struct gst_image image = make_image();
	struct reader *r;
	struct error e;

	(void)state;
	write_file(&image);
	half_signed = 1;
	assert_int_equal(reader_open(&r, path, &e), ERR_NONE);
	assert_int_equal(half_signed, 0);
	assert_int_equal(rest(r), 10 + 10);
	assert_null(reader_damage(r));
	reader_free(r);
	half_signed = 100; /* it is damaged */
	assert_int_equal(reader_open(&r, path, &e), ERR_NONE);
	half_signed = 0;
	assert_non_null(reader_damage(r));
	assert_int_equal(reader_damage(r)->error.byte, GST_SEGMENTS_OFFSET + GST_SEGMENT_BYTES);
	reader_free(r);
	gst_image_free(&image);
}

/* What lay in an earlier page was not there when that was copied, what lies in the next one was: no damage, and none of the others is lost. */
static void what_was_copied_too_early_is_not_finished(void **state)
{
	static const struct {
		size_t from, to, unfinished;
	} cases[] = {
		{ 64 + 3 * 64, 64 + 4 * 64, 1 },           /* a record */
		{ 64 + 3 * 64, 64 + 5 * 64 + 32, 3 },      /* up to the middle of one */
		{ 64 + 3 * 64 + 8, 64 + 4 * 64 + 16, 1 },  /* from a payload on into the next */
		{ 64, 64 + 8, 1 },                         /* the first one's header */
		{ 64 + 8 * 64, GST_SEGMENT_BYTES, 0 },     /* all there was to the end: simply not there yet */
		{ 64 + 8 * 64 + 8, GST_SEGMENT_BYTES, 0 }, /* … its header was, the payload is taken from later */
	};
	static const size_t there[] = { 9, 7, 9, 9, 8, 9 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gst_image image = make_image();
		struct reader *r;
		struct error e;

		write_file(&image);
		tear.from = cases[i].from;
		tear.to = cases[i].to;
		tear.torn = false;
		assert_int_equal(reader_open(&r, path, &e), ERR_NONE);
		assert_int_equal(rest(r), 20 + there[i]);
		assert_true(tear.torn);
		assert_sound(r);
		assert_int_equal(reader_counts(r).unfinished, cases[i].unfinished);
		reader_free(r);
		gst_image_free(&image);
	}
	tear.from = tear.to = 0;
}

/* A mapping would end this program with SIGBUS. */
static void cut_short_while_it_is_read(bool exited)
{
	struct gst_image image = make_image();
	struct record_view v;
	struct reader *r;
	struct error e;

	gst_image_counters(&image)->exited = exited;
	write_file(&image);
	assert_int_equal(reader_open(&r, path, &e), ERR_NONE);
	assert_true(reader_next(r, &v));
	assert_int_equal(truncate(path, GST_SEGMENTS_OFFSET + GST_SEGMENT_BYTES), 0);
	assert_int_equal(rest(r), 9);
	assert_non_null(reader_damage(r));
	assert_int_equal(reader_damage(r)->cut_ticks, 1001000000); /* the begin of what is missing */
	assert_int_equal(reader_damage(r)->error.byte, GST_SEGMENTS_OFFSET + GST_SEGMENT_BYTES);
	reader_free(r);
	gst_image_free(&image);
}

static void a_file_cut_short_while_it_is_read_ends_nobody(void **state)
{
	(void)state;
	cut_short_while_it_is_read(true);
	cut_short_while_it_is_read(false); /* of a process that was killed, or lives */
}

/* Of a process that was killed the file says as little of an end as of one that lives; a segment is allocated before the directory names
 * it, so neither ends before its segments do. */
static void a_file_without_an_end_that_was_cut_short_is_damaged(void **state)
{
	struct gst_image image = make_image();
	struct reader *r;
	struct error e;

	(void)state;
	for (size_t left = 0; left < GST_SEGMENT_BYTES; left += 64) {
		write_file(&image);
		assert_int_equal(truncate(path, (off_t)(GST_SEGMENTS_OFFSET + 2 * GST_SEGMENT_BYTES + left)), 0);
		assert_int_equal(reader_open(&r, path, &e), ERR_NONE);
		assert_true(rest(r) >= 20);
		assert_non_null(reader_damage(r));
		assert_int_equal(reader_damage(r)->error.byte, GST_SEGMENTS_OFFSET + 2 * GST_SEGMENT_BYTES + left);
		reader_free(r);
		left += left > 2048 ? 16384 : 0;
	}
	gst_image_free(&image);
}

static struct trace *open_image(const struct gst_image *image)
{
	struct trace *t;
	struct error e;

	assert_int_equal(trace_open_mem(&t, image->bytes, image->len, "image", &e), ERR_NONE);
	return t;
}

static void what_had_ended_by_then_is_left_out(void **state)
{
	struct gst_image image = make_image();
	struct trace *t;

	(void)state;
	give_up(&image, 0, 1001000000 + 5 * 1000 + 500); /* the end of the second segment's fifth call */
	t = open_image(&image);
	assert_true(t->recycled);
	assert_int_equal(t->n_calls, 5 + 10);
	assert_int_equal(t->from_ns, 1001005500);
	trace_free(t);
	gst_image_free(&image);
}

/* What counters say in a file that was never given up from is a flip in them. */
static void the_version_says_whether_anything_was_given_up(void **state)
{
	struct gst_image image = make_image();
	struct trace *t;

	(void)state;
	gst_image_counters(&image)->recycled_until = 1002000000;
	t = open_image(&image);
	assert_false(t->recycled);
	assert_int_equal(t->n_calls, 30);
	trace_free(t);
	gst_image_free(&image);
}

static void add_kept(struct gst_image *image, uint32_t segment, uint32_t recycles, uint32_t stream)
{
	struct gst_kept kept = { .segment = segment, .recycles = recycles };
	struct gst_stream s = { .id = stream };

	assert_true(gst_image_add(image, GST_KEPT, &kept, sizeof(kept), true));
	assert_true(gst_image_add(image, GST_STREAM, &s, sizeof(s), true));
}

/* The writer was killed between copying and giving up: the segment itself counts. */
static void copies_count_where_the_segment_is_gone(void **state)
{
	const struct gst_segment_header more = { .previous = GST_NONE, .flags = GST_SEGMENT_KEPT };
	struct gst_image image = make_image();
	struct trace *t;

	(void)state;
	assert_true(gst_image_segment_as(&image, 0, "", &more));
	add_kept(&image, 0, 0, 5);
	add_kept(&image, 1, 0, 6);
	add_kept(&image, 2, 3, 7); /* an earlier segment in the place of one that is there */
	give_up(&image, 0, 1000500000);
	t = open_image(&image);
	assert_int_equal(t->n_streams, 2);
	assert_int_equal(t->streams[0].id, 5);
	assert_int_equal(t->streams[1].id, 7);
	assert_int_equal(t->n_threads, 1); /* a kept segment is no thread's */
	trace_free(t);
	gst_image_free(&image);
}

/* Places say nothing of the order of time there: nothing can be analysed. */
static void a_lost_segment_of_a_recycled_file_ends_all(void **state)
{
	struct gst_image image = make_image();
	struct trace *t;

	(void)state;
	give_up(&image, 0, 1000500000);
	image.bytes[GST_SEGMENTS_OFFSET + GST_SEGMENT_BYTES] ^= 1;
	t = open_image(&image);
	assert_int_equal(t->damage.kind, ERR_FORMAT);
	assert_int_equal(t->n_calls, 0);
	trace_free(t);
	gst_image_free(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_segment_given_up_meanwhile_is_left_out),
		cmocka_unit_test(one_that_is_used_again_is_another_one),
		cmocka_unit_test(a_header_that_is_being_written_is_read_again),
		cmocka_unit_test(one_that_is_begun_again_meanwhile_is_left_out),
		cmocka_unit_test(what_was_copied_too_early_is_not_finished),
		cmocka_unit_test(a_file_cut_short_while_it_is_read_ends_nobody),
		cmocka_unit_test(a_file_without_an_end_that_was_cut_short_is_damaged),
		cmocka_unit_test(what_had_ended_by_then_is_left_out),
		cmocka_unit_test(the_version_says_whether_anything_was_given_up),
		cmocka_unit_test(copies_count_where_the_segment_is_gone),
		cmocka_unit_test(a_lost_segment_of_a_recycled_file_ends_all),
	};
	int status, fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	status = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return status;
}
