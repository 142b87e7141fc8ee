/* SPDX-License-Identifier: BSD-2-Clause */
/* The loader's cache: entries of a name in their order, both layouts, this machine's own; and no byte beyond a file that is cut short. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "twin/loader_cache.h"

static char tried[256];

static void *note(const char *path)
{
	strcat(strcat(tried, path), " ");
	return strcmp(path, "/take/it") == 0 ? tried : NULL;
}

struct cache {
	uint8_t bytes[1024];
	size_t n;
};

static void put(struct cache *c, const void *data, size_t n)
{
	memcpy(c->bytes + c->n, data, n);
	c->n += n;
}

static void put32(struct cache *c, uint32_t value)
{
	put(c, &value, sizeof(value));
}

/* Four entries: another name, then three of libcuda.so.1. */
static void put_new_part(struct cache *c)
{
	static const char texts[] = "libm.so.6\0/m\0libcuda.so.1\0/first\0/take/it\0/never";
	static const uint32_t at[4][2] = { { 0, 10 }, { 13, 26 }, { 13, 33 }, { 13, 42 } };
	uint32_t base = 48 + 4 * 24;

	put(c, "glibc-ld.so.cache1.1", 20);
	put32(c, 4);
	put32(c, sizeof(texts));
	for (int i = 0; i < 5; i++)
		put32(c, 0);
	for (int i = 0; i < 4; i++) {
		put32(c, 0x303);
		put32(c, base + at[i][0]);
		put32(c, base + at[i][1]);
		for (int k = 0; k < 3; k++)
			put32(c, 0);
	}
	put(c, texts, sizeof(texts));
}

static void put_old_part(struct cache *c)
{
	put(c, "ld.so-1.7.0", 12); /* its terminator pads it */
	put32(c, 1);
	for (int i = 0; i < 3; i++)
		put32(c, 0);
	put32(c, 0); /* to a multiple of 8 */
}

static void *search(const void *data, size_t n)
{
	tried[0] = 0;
	return loader_cache_search(data, n, "libcuda.so.1", note);
}

static void entries_are_tried_in_their_order_until_one_is_good(void **state)
{
	struct cache c = { .n = 0 };

	(void)state;
	put_new_part(&c);
	assert_ptr_equal(search(c.bytes, c.n), tried);
	assert_string_equal(tried, "/first /take/it ");
}

static void the_old_part_is_skipped(void **state)
{
	struct cache c = { .n = 0 };

	(void)state;
	put_old_part(&c);
	put_new_part(&c);
	assert_ptr_equal(search(c.bytes, c.n), tried);
	assert_string_equal(tried, "/first /take/it ");
	assert_null(search("ld.so-1.7.0", 12)); /* alone: nothing in it is ours to read */
}

/* Each in a block of its own, so that a sanitizer sees a read beyond it. */
static void every_prefix_is_read_within_its_bounds(void **state)
{
	struct cache c = { .n = 0 };

	(void)state;
	put_old_part(&c);
	put_new_part(&c);
	for (size_t n = 0; n < c.n; n++) {
		uint8_t *prefix = malloc(n ? n : 1);

		memcpy(prefix, c.bytes, n);
		search(prefix, n);
		assert_true(strcmp(tried, "/first /take/it ") == 0 || strcmp(tried, "/first ") == 0 || !*tried);
		free(prefix);
	}
}

static void *anything(const char *path)
{
	return path[0] == '/' && strlen(path) < sizeof(tried) ? strcpy(tried, path) : NULL;
}

static void this_machines_own(void **state)
{
	FILE *file = fopen("/etc/ld.so.cache", "r");

	(void)state;
	if (!file)
		skip();
	fclose(file);
	assert_ptr_equal(loader_cache_find("libc.so.6", anything), tried);
	assert_non_null(strstr(tried, "/libc.so.6"));
	assert_null(loader_cache_find("libnothing.so.9", anything));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_tried_in_their_order_until_one_is_good),
		cmocka_unit_test(the_old_part_is_skipped),
		cmocka_unit_test(every_prefix_is_read_within_its_bounds),
		cmocka_unit_test(this_machines_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
