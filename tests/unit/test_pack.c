/* SPDX-License-Identifier: BSD-2-Clause */
/* Archives: what was packed is what is unpacked, whatever it is; no bit of one can be changed unseen; every allocation may fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "pack/pack_format.h"
#include "pack/pack_read.h"
#include "pack/pack_write.h"
#include "read/reader.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/gst_random.h"
#include "tests/unit/fewer.h"

static char folder[] = "/tmp/gpushim-test-pack-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[2][128];
	static unsigned turn;
	char *out = path[turn++ % 2];

	snprintf(out, sizeof(path[0]), "%s/%s", folder, name);
	return out;
}

static void write_file(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* The archive of files in `folder`, in memory; to be freed. NULL: *kind says why. */
static char *archive_of(const char *const *names, size_t n, size_t *size, enum err_kind *kind, struct error *e)
{
	char *bytes = NULL;
	FILE *out = open_memstream(&bytes, size);
	struct pack_writer *w = out ? pack_writer_new(out) : NULL;

	*kind = w ? ERR_NONE : ERR_SYSTEM;
	for (size_t i = 0; i < n && !*kind; i++)
		*kind = pack_write(w, path_of(names[i]), names[i], e);
	if (!*kind)
		*kind = pack_write_end(w, e);
	pack_writer_free(w);
	if (out && fclose(out) != 0)
		*kind = ERR_SYSTEM;
	if (*kind) {
		free(bytes);
		bytes = NULL;
	}
	return bytes;
}

struct whole {
	uint8_t *bytes;
	size_t n;
};

static bool take_whole(void *to, const uint8_t *bytes, size_t n, uint64_t at, struct error *e)
{
	struct whole *w = to;

	(void)e;
	assert_int_equal(at, w->n);
	w->bytes = __real_realloc(w->bytes, w->n + n + 1);
	assert_non_null(w->bytes);
	memcpy(w->bytes + at, bytes, n);
	w->n += n;
	return true;
}

static const char *const two[] = { "a-1.gst", "b-2.host.gst" };

/* Two files, one of host probes and damaged; NULL e: they must be packed. */
static void make_two(struct gst_image images[2], unsigned records)
{
	assert_true(gst_random_image(&images[0], records));
	assert_true(gst_random_image(&images[1], records / 2));
	gst_image_header(&images[1])->kind = GST_FILE_HOST;
	gst_image_seal(&images[1]);
	images[1].bytes[GST_SEGMENTS_OFFSET + 100] ^= 4;
	images[1].len -= 5000;
	for (unsigned i = 0; i < 2; i++)
		write_file(path_of(two[i]), images[i].bytes, images[i].len);
}

static void test_files_come_back(void **state)
{
	struct gst_image images[2];
	struct pack_file *p;
	struct error e = { 0 };
	enum err_kind kind;
	size_t n;
	char *bytes;

	(void)state;
	gst_random_seed(21);
	make_two(images, 2000);
	bytes = archive_of(two, 2, &n, &kind, &e);
	assert_int_equal(kind, ERR_NONE);
	assert_int_equal(pack_open_mem(&p, bytes, n, "x.gpk", &e), ERR_NONE);
	assert_int_equal(pack_check(p, &e), ERR_NONE);
	assert_int_equal(pack_members(p), 2);
	for (unsigned i = 0; i < 2; i++) {
		struct whole w = { 0 };
		uint8_t *front;
		size_t n_front;

		assert_string_equal(pack_member(p, i).name, two[i]);
		assert_int_equal(pack_member(p, i).length, images[i].len);
		assert_int_equal(pack_member(p, i).kind, i ? GST_FILE_HOST : GST_FILE_PROCESS);
		assert_int_equal(pack_unpack(p, i, take_whole, &w, &e), ERR_NONE);
		assert_int_equal(w.n, images[i].len);
		assert_memory_equal(w.bytes, images[i].bytes, w.n);
		assert_int_equal(pack_front(p, i, &front, &n_front, &e), ERR_NONE);
		assert_int_equal(n_front, GST_SEGMENTS_OFFSET);
		assert_memory_equal(front, images[i].bytes, n_front);
		free(front);
		free(w.bytes);
		gst_image_free(&images[i]);
	}
	pack_close(p);
	free(bytes);
}

/* A member is read as the file was. */
static void test_the_reader_takes_members(void **state)
{
	struct gst_image images[2];
	struct reader *r, *q;
	struct record_view x, y;
	struct error e = { 0 };
	enum err_kind kind;
	uint64_t records = 0;
	size_t n;
	char *bytes;

	(void)state;
	gst_random_seed(22);
	make_two(images, 2000);
	assert_true(gst_image_segment(&images[0], 13, "calls"));
	for (uint32_t i = 0; i < 3000; i++) {
		struct gst_call c = { .begin = 100 * i,
				      .end = 100 * i + 50,
				      .seq = i,
				      .hook = (uint16_t)(i % 5),
				      .args = { gst_random_below(9), 0 } };

		assert_true(gst_image_add(&images[0], GST_CALL, &c, sizeof(c), true));
	}
	write_file(path_of(two[0]), images[0].bytes, images[0].len);
	bytes = archive_of(two, 2, &n, &kind, &e);
	assert_int_equal(kind, ERR_NONE);
	write_file(path_of("x.gpk"), bytes, n);
	assert_true(pack_is(path_of("x.gpk")) && !pack_is(path_of(two[0])) && !pack_is(path_of("none")));
	assert_int_equal(reader_open(&r, path_of("x.gpk/a-1.gst"), &e), ERR_NONE);
	assert_int_equal(reader_open(&q, path_of("a-1.gst"), &e), ERR_NONE);
	while (reader_next(r, &x)) {
		assert_true(reader_next(q, &y));
		assert_int_equal(x.byte, y.byte);
		assert_memory_equal(x.record, y.record, x.record->size);
		records++;
	}
	assert_false(reader_next(q, &y));
	assert_true(records >= 3000);
	reader_free(r);
	reader_free(q);
	assert_int_equal(reader_open(&r, path_of("x.gpk/c-1.gst"), &e), ERR_FORMAT);
	assert_string_equal(e.text, "has no recording of that name");
	assert_int_equal(reader_open(&r, path_of("a-1.gst/c-1.gst"), &e), ERR_FORMAT);
	for (unsigned i = 0; i < 2; i++)
		gst_image_free(&images[i]);
	free(bytes);
}

/* Opened and checked, or refused with a place in it. */
static enum err_kind try_archive(const void *bytes, size_t n)
{
	struct pack_file *p = NULL;
	struct error e = { 0 };
	enum err_kind kind = pack_open_mem(&p, bytes, n, "x.gpk", &e);

	if (!kind)
		kind = pack_check(p, &e);
	if (kind == ERR_FORMAT) {
		assert_string_equal(e.file, "x.gpk");
		assert_true(e.byte <= n && *e.text);
	}
	pack_close(p);
	return kind;
}

static void test_every_flip_is_refused(void **state)
{
	struct gst_image images[2];
	struct error e = { 0 };
	enum err_kind kind;
	size_t n;
	char *bytes, *longer;

	(void)state;
	gst_random_seed(23);
	make_two(images, 6);
	bytes = archive_of(two, 2, &n, &kind, &e);
	assert_int_equal(kind, ERR_NONE);
	assert_in_range(n, 300, 4000);
	assert_int_equal(try_archive(bytes, n), ERR_NONE);
	for (size_t i = 0; i < 8 * n; i++) {
		bytes[i / 8] ^= (char)(1 << i % 8);
		if (try_archive(bytes, n) != ERR_FORMAT)
			fail_msg("bit %zu of byte %zu", i % 8, i / 8);
		bytes[i / 8] ^= (char)(1 << i % 8);
	}
	for (size_t i = 0; i < n; i++) { /* and every cut */
		char *cut = malloc(i ? i : 1);

		assert_non_null(cut);
		memcpy(cut, bytes, i);
		assert_int_equal(try_archive(cut, i), ERR_FORMAT);
		free(cut);
	}
	longer = calloc(1, n + 1);
	assert_non_null(longer);
	memcpy(longer, bytes, n);
	assert_int_equal(try_archive(longer, n + 1), ERR_FORMAT); /* nothing may be added */
	free(longer);
	for (unsigned i = 0; i < 2; i++)
		gst_image_free(&images[i]);
	free(bytes);
}

static void set_version(struct pack_header *h, uint32_t version)
{
	memcpy(h->magic, PACK_MAGIC, sizeof(h->magic));
	h->version = version;
	h->check = (uint32_t)crc32(0, (const uint8_t *)h, offsetof(struct pack_header, check));
}

/* Of versions that were never let out, and of those to come. */
static void test_other_versions_are_refused(void **state)
{
	static const struct {
		uint32_t version;
		const char *text;
	} others[] = { { 1, "archive version 1, this gpushim reads 2 and 3: pack the recordings anew" },
		       { 4, "archive version 4, this gpushim reads 2 and 3" } };

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct pack_header h = { .version = 0 };
		struct pack_file *p;
		struct error e;

		set_version(&h, others[i].version);
		assert_int_equal(pack_open_mem(&p, &h, sizeof(h), "x.gpk", &e), ERR_FORMAT);
		assert_string_equal(e.file, "x.gpk");
		assert_int_equal(e.byte, offsetof(struct pack_header, version));
		assert_string_equal(e.text, others[i].text);
	}
}

/* Of numbers of which none is rounded an archive says the same in both versions. */
static void test_version_2_is_read(void **state)
{
	static const char *const names[] = { "old.gst" };
	struct gst_image image;
	struct whole w = { 0 };
	struct pack_file *p;
	struct error e = { 0 };
	enum err_kind kind;
	size_t n;
	char *bytes;

	(void)state;
	gst_random_seed(41);
	assert_true(gst_random_image(&image, 500));
	write_file(path_of("old.gst"), image.bytes, image.len);
	bytes = archive_of(names, 1, &n, &kind, &e);
	assert_int_equal(kind, ERR_NONE);
	set_version((struct pack_header *)(void *)bytes, PACK_VERSION_PLAIN);
	assert_int_equal(pack_open_mem(&p, bytes, n, "x.gpk", &e), ERR_NONE);
	assert_int_equal(pack_unpack(p, 0, take_whole, &w, &e), ERR_NONE);
	assert_int_equal(w.n, image.len);
	assert_memory_equal(w.bytes, image.bytes, w.n);
	pack_close(p);
	unlink(path_of("old.gst"));
	free(w.bytes);
	free(bytes);
	gst_image_free(&image);
}

/* Several blocks, by one and by several at work: the same bytes, and the same recording again. */
static void test_any_number_of_threads(void **state)
{
	struct gst_image image;
	struct error e = { 0 };
	enum err_kind kind;
	size_t n[2], blocks = 5, length = GST_SEGMENTS_OFFSET + blocks * PACK_BLOCK_BYTES - 777;
	char *bytes[2];
	uint8_t *file = calloc(1, length);

	(void)state;
	gst_random_seed(25);
	assert_true(file && gst_random_image(&image, 4000));
	memcpy(file, image.bytes, GST_SEGMENTS_OFFSET);
	for (size_t i = 0; i < 5 * PACK_BLOCK_SEGMENTS - 1; i++)
		memcpy(file + GST_SEGMENTS_OFFSET + i * GST_SEGMENT_BYTES,
		       image.bytes + GST_SEGMENTS_OFFSET + i % image.n_segments * GST_SEGMENT_BYTES, 30000 + 1000 * i);
	write_file(path_of(two[0]), file, length);
	for (unsigned i = 0; i < 2; i++) {
		struct pack_file *p;
		struct whole w = { 0 };

		setenv("GPUSHIM_THREADS", i ? "3" : "1", 1);
		bytes[i] = archive_of(two, 1, &n[i], &kind, &e);
		assert_int_equal(kind, ERR_NONE);
		assert_int_equal(pack_open_mem(&p, bytes[i], n[i], "x.gpk", &e), ERR_NONE);
		assert_int_equal(pack_unpack(p, 0, take_whole, &w, &e), ERR_NONE);
		assert_int_equal(w.n, length);
		assert_memory_equal(w.bytes, file, length);
		free(w.bytes);
		pack_close(p);
	}
	unsetenv("GPUSHIM_THREADS");
	assert_int_equal(n[0], n[1]);
	assert_memory_equal(bytes[0], bytes[1], n[0]);
	for (unsigned i = 0; i < 2; i++)
		free(bytes[i]);
	free(file);
	gst_image_free(&image);
}

static void test_names(void **state)
{
	static const char *const bad[] = { "",        ".gst",         "x",       "../a.gst", "a/b.gst", ".a.gst",
					   "a\n.gst", "a\x1b[0m.gst", "a.gst\n", "a.gpk" };
	char longest[300];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(pack_name_fits(bad[i], strlen(bad[i])));
	assert_true(pack_name_fits("a.gst", 5) && pack_name_fits("host-1.host.gst", 15) &&
		    pack_name_fits("\xc3\xa4.gst", 6));
	assert_false(pack_name_fits("a\0b.gst", 7));
	memset(longest, 'a', sizeof(longest));
	memcpy(longest + 251, ".gst", 4);
	assert_true(pack_name_fits(longest, 255));
	memcpy(longest + 252, ".gst", 4);
	assert_false(pack_name_fits(longest, 256));
}

static void test_no_recording_is_refused(void **state)
{
	struct error e = { 0 };
	enum err_kind kind;
	size_t n;
	static const char *const names[] = { "n.gst" };

	(void)state;
	write_file(path_of("n.gst"), "nothing of that kind", 20);
	assert_null(archive_of(names, 1, &n, &kind, &e));
	assert_int_equal(kind, ERR_FORMAT);
	assert_string_equal(e.text, "not a gpushim trace");
	unlink(path_of("n.gst"));
	assert_null(archive_of(names, 1, &n, &kind, &e));
	assert_int_equal(kind, ERR_SYSTEM);
}

static void test_allocations_may_fail(void **state)
{
	struct gst_image images[2];
	struct error e = { 0 };
	enum err_kind kind = ERR_SYSTEM;
	char *bytes = NULL;
	size_t n = 0;

	(void)state;
	gst_random_seed(24);
	make_two(images, 300);
	for (long i = 1; kind; i += FEWER_BY) {
		fail_at = i;
		bytes = archive_of(two, 2, &n, &kind, &e);
		fail_at = 0;
		assert_true(kind == ERR_NONE || kind == ERR_SYSTEM);
		assert_true(i < 400 + FEWER_BY);
	}
	kind = ERR_SYSTEM;
	for (long i = 1; kind; i += FEWER_BY) {
		struct pack_file *p = NULL;
		struct whole w = { 0 };

		fail_at = i;
		kind = pack_open_mem(&p, bytes, n, "x.gpk", &e);
		if (!kind)
			kind = pack_check(p, &e);
		for (size_t k = 0; k < 2 && !kind; k++) {
			w.n = 0;
			kind = pack_unpack(p, k, take_whole, &w, &e);
		}
		fail_at = 0;
		if (!kind)
			assert_memory_equal(w.bytes, images[1].bytes, w.n);
		else
			assert_int_equal(kind, ERR_SYSTEM);
		free(w.bytes);
		pack_close(p);
		assert_true(i < 400 + FEWER_BY);
	}
	for (unsigned i = 0; i < 2; i++)
		gst_image_free(&images[i]);
	free(bytes);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path_of("a-1.gst"));
	unlink(path_of("b-2.host.gst"));
	unlink(path_of("x.gpk"));
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_come_back),         cmocka_unit_test(test_the_reader_takes_members),
		cmocka_unit_test(test_every_flip_is_refused),   cmocka_unit_test(test_other_versions_are_refused),
		cmocka_unit_test(test_any_number_of_threads),   cmocka_unit_test(test_names),
		cmocka_unit_test(test_no_recording_is_refused), cmocka_unit_test(test_allocations_may_fail),
		cmocka_unit_test(test_version_2_is_read),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
