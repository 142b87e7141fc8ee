/* SPDX-License-Identifier: BSD-2-Clause */
/* What a copy of NVTX calls, called as one would: levels held against a naive count, names that read the same again, and nonsense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvtx_api.h"
#include "nvtx_text.h"

#define PLACES 20

extern int InitializeInjectionNvtx2(nvtx_get_table *get_table);
extern int InitializeInjectionNvtxExtension(const struct nvtx_extension *e);

static nvtx_function *core[PLACES], *core2[PLACES];
static nvtx_place *core_table[PLACES], *core2_table[PLACES];
static intptr_t payload_places[8];

/* Of CORE2 one place fewer than NVTX has now: an older copy. */
static int module_of(int module, nvtx_place ***out, unsigned *count)
{
	nvtx_function **at = module == NVTX_MODULE_CORE ? core : core2;
	nvtx_place **table = module == NVTX_MODULE_CORE ? core_table : core2_table;

	if (module != NVTX_MODULE_CORE && module != NVTX_MODULE_CORE2)
		return 0;
	for (unsigned i = 1; i < PLACES; i++)
		table[i] = &at[i];
	*out = table;
	*count = 15;
	return 1;
}

static const void *table_of(uint32_t id)
{
	static const struct nvtx_callbacks callbacks = { sizeof(callbacks), module_of };

	return id == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static const void *no_table(uint32_t id)
{
	(void)id;
	return NULL;
}

static int attach(void **state)
{
	struct nvtx_segment segment = { 0, 8, payload_places };
	struct nvtx_extension extension = { .module = NVTX_EXTENSION_PAYLOAD, .n_segments = 1, .segments = &segment };

	(void)state;
	return !(InitializeInjectionNvtx2(table_of) == 1 && InitializeInjectionNvtxExtension(&extension) == 1);
}

static void attached_again(void **state)
{
	struct nvtx_extension other = { .module = 77 };
	nvtx_function *push = core[NVTX_PUSH_A];

	(void)state;
	assert_non_null(push);
	assert_int_equal(InitializeInjectionNvtx2(table_of), 1);
	assert_ptr_equal(core[NVTX_PUSH_A], push);
	assert_null(core[NVTX_CATEGORY_W + 1]); /* not ours */
	assert_null(core2[15]);
	assert_int_equal(InitializeInjectionNvtx2(NULL), 0);
	assert_int_equal(InitializeInjectionNvtx2(no_table), 0);
	assert_int_equal(InitializeInjectionNvtxExtension(&other), 0);
	assert_int_equal(InitializeInjectionNvtxExtension(NULL), 0);
}

static int push_in(void *domain, const char *name)
{
	struct nvtx_attributes a = { .version = 3, .bytes = sizeof(a), .message_kind = NVTX_ASCII, .message = name };

	return ((int (*)(const void *, const struct nvtx_attributes *))core2[NVTX_DOMAIN_PUSH_EX])(domain, &a);
}

static int pop_in(void *domain)
{
	return ((int (*)(const void *))core2[NVTX_DOMAIN_POP])(domain);
}

static void levels_are_those_of_each_domain(void **state)
{
	void *(*create)(const char *) = (void *(*)(const char *))core2[NVTX_DOMAIN_CREATE_A];
	void *domains[5] = { NULL, create("a"), create("b"), create("c"), create("d") };
	int depth[5] = { 0 };

	(void)state;
	assert_ptr_equal(create("b"), domains[2]);
	srand(3);
	for (int i = 0; i < 20000; i++) {
		int d = rand() % 5;

		if (rand() % 100 < (i / 1000 % 2 ? 60 : 40)) /* up to more than are recorded, and down again */
			assert_int_equal(push_in(domains[d], "x"), depth[d]++);
		else
			assert_int_equal(pop_in(domains[d]), depth[d] ? --depth[d] : -1);
	}
	for (int d = 0; d < 5; d++)
		while (depth[d])
			assert_int_equal(pop_in(domains[d]), --depth[d]);
}

/* ---- a handler's ranges within a push, within a pop ------------------------------------------------------------------------ */

static struct {
	volatile int steps, wrong;
} handler;

static int push_plain(const char *name)
{
	return ((int (*)(const char *))core[NVTX_PUSH_A])(name);
}

static int pop_plain(void)
{
	return ((int (*)(void))core[NVTX_POP])();
}

/* What it interrupts counts already, or not yet. */
static void on_step(int signal)
{
	int level = push_plain("handler");

	(void)signal;
	handler.wrong += level < 0 || level > 1 || pop_plain() != level;
	handler.steps++;
}

/* A trap after each instruction, but for the handler's. */
static void set_stepping(bool on)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) /* which calls handlers later */
	if (on)
		__asm__ volatile(
			"leaq -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tleaq 128(%%rsp), %%rsp"
			:
			:
			: "memory", "cc");
	else
		__asm__ volatile(
			"leaq -128(%%rsp), %%rsp\n\tpushfq\n\tandq $-257, (%%rsp)\n\tpopfq\n\tleaq 128(%%rsp), %%rsp"
			:
			:
			: "memory", "cc");
#else
	(void)on;
#endif
}

static void handlers_at_every_instruction(void **state)
{
	struct sigaction action = { .sa_handler = on_step };

	(void)state;
	push_plain("handler");
	push_plain("interrupted");
	pop_plain();
	pop_plain();
	sigaction(SIGTRAP, &action, NULL);
	for (int i = 0; i < 3; i++) {
		int pushed, popped;

		set_stepping(true);
		pushed = push_plain("interrupted");
		set_stepping(false);
		assert_int_equal(pushed, 0);
		assert_int_equal(push_plain("inner"), 1);
		assert_int_equal(pop_plain(), 1);
		set_stepping(true);
		popped = pop_plain();
		set_stepping(false);
		assert_int_equal(popped, 0);
		assert_int_equal(pop_plain(), -1);
	}
	assert_int_equal(handler.wrong, 0);
	if (!handler.steps)
		skip(); /* not on this processor */
	assert_in_range(handler.steps, 300, 1000000);
}

static void ids_are_unlike(void **state)
{
	uint64_t (*start)(const char *) = (uint64_t(*)(const char *))core[NVTX_START_A], ids[3000];
	void (*end)(uint64_t) = (void (*)(uint64_t))core[NVTX_END];

	(void)state;
	for (int round = 0; round < 2; round++) { /* more at once than there is room for */
		for (int i = 0; i < 3000; i++) {
			ids[i] = start("started");
			assert_true(ids[i] != 0);
			for (int k = 0; i < 100 && k < i; k++)
				assert_true(ids[k] != ids[i]);
		}
		for (int i = 0; i < 3000; i++)
			end(ids[i]);
		end(ids[0]);
		end(0);
		end(UINT64_MAX);
	}
}

/* A copy with nothing behind it. */
static char *exactly(const char *text, size_t bytes)
{
	char *p = malloc(bytes);

	assert_non_null(p);
	memcpy(p, text, bytes);
	return p;
}

static void whole(char *out, struct nvtx_name name)
{
	size_t n = nvtx_text_copy(out, NVTX_TEXT_BYTES, name.text);

	out[n] = 0;
	if (name.numbered)
		sprintf(out + n, "%u", name.number);
}

static void names_read_the_same_again(void **state)
{
	static const char *const some[] = { "",           "7",   "007",
					    "step 12",    "a0",  "x1000000001",
					    "4294967296", "9 9", "99999999999999999999" };

	(void)state;
	srand(4);
	for (int i = 0; i < 3000; i++) {
		char text[NVTX_TEXT_BYTES + 32], again[NVTX_TEXT_BYTES + 32], *p;
		size_t n = (size_t)rand() % 24;
		struct nvtx_name name, handed;

		for (size_t k = 0; k < n; k++)
			text[k] = "ab0123456789 \xc3"[rand() % 14];
		text[n] = 0;
		if (i < (int)(sizeof(some) / sizeof(some[0])))
			strcpy(text, some[i]);
		p = exactly(text, strlen(text) + 1);
		name = nvtx_name_ascii(p);
		free(p);
		assert_true(name.text != 0);
		whole(again, name);
		assert_string_equal(again, text);
		handed = nvtx_name_of(nvtx_name_handle(name));
		assert_true(handed.text == name.text && handed.number == name.number &&
			    handed.numbered == name.numbered);
	}
}

static void nothing_is_read_beyond(void **state)
{
	char long_text[NVTX_TEXT_BYTES], again[NVTX_TEXT_BYTES + 32], *p;

	(void)state;
	memset(long_text, 'x', sizeof(long_text));
	p = exactly(long_text, sizeof(long_text)); /* no terminator */
	whole(again, nvtx_name_ascii(p));
	assert_int_equal(strlen(again), NVTX_TEXT_BYTES);
	free(p);
	memcpy(long_text + NVTX_TEXT_BYTES - 2, "\xe2\x82", 2); /* two bytes of a character of three */
	p = exactly(long_text, sizeof(long_text));
	whole(again, nvtx_name_ascii(p));
	assert_int_equal(strlen(again), NVTX_TEXT_BYTES - 2);
	free(p);
	for (uint64_t i = 0; i < 10000; i++) {
		struct nvtx_name name = nvtx_name_of((void *)(uintptr_t)(i * 0x9e3779b97f4a7c15u));

		assert_true(name.text <= NVTX_TEXTS);
	}
}

static void structures_of_any_kind(void **state)
{
	uint64_t (*schema_of)(const void *, const struct nvtx_schema *) =
		(uint64_t(*)(const void *, const struct nvtx_schema *))payload_places[0];
	int (*push)(const void *, const struct nvtx_data *, size_t) =
		(int (*)(const void *, const struct nvtx_data *, size_t))payload_places[3];
	int (*pop)(const void *, const struct nvtx_data *, size_t) =
		(int (*)(const void *, const struct nvtx_data *, size_t))payload_places[4];

	(void)state;
	srand(5);
	for (int i = 0; i < 2000; i++) {
		struct nvtx_entry entries[40] = { { 0 } };
		struct nvtx_schema schema = {
			.mask = (uint64_t)rand() |
				(rand() % 8 ? NVTX_FIELD_ENTRIES | NVTX_FIELD_COUNT | NVTX_FIELD_TYPE : 0),
			.type = (uint64_t)(rand() % 5),
			.entries = entries,
			.n_entries = (size_t)rand() % 41,
			.static_bytes = (size_t)rand() % 64,
			.id = rand() % 2 ? NVTX_SCHEMA_IDS + (uint64_t)(rand() % 300) : (uint64_t)rand() << 20
		};
		struct nvtx_data data = { .bytes = (size_t)rand() % 600 };

		for (int k = 0; k < 40; k++)
			entries[k] =
				(struct nvtx_entry){ .flags = rand() % 3 ? 0 : (uint64_t)rand() % 4096,
						     .type = rand() % 3 ? (uint64_t)rand() % 110
									: NVTX_SCHEMA_IDS + (uint64_t)(rand() % 300),
						     .name = rand() % 4 ? "a field\n\twith lines" : NULL,
						     .offset = rand() % 2 ? 0 : (uint64_t)rand() << (rand() % 40) };
		data.schema = schema_of(NULL, &schema);
		data.data = calloc(1, data.bytes + 1);
		assert_int_equal(push(NULL, &data, 1), 0);
		assert_int_equal(pop(NULL, &data, 1), 0);
		free((void *)data.data);
	}
	assert_true(schema_of(NULL, NULL) == 0);
	assert_int_equal(push(NULL, NULL, 7), 0);
	assert_int_equal(pop(NULL, NULL, 7), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attached_again),
		cmocka_unit_test(levels_are_those_of_each_domain),
		cmocka_unit_test(handlers_at_every_instruction),
		cmocka_unit_test(ids_are_unlike),
		cmocka_unit_test(names_read_the_same_again),
		cmocka_unit_test(nothing_is_read_beyond),
		cmocka_unit_test(structures_of_any_kind),
	};

	return cmocka_run_group_tests(tests, attach, NULL);
}
