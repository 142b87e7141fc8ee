/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of C++ functions: read whatever they are made of, and shown where there is little room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <libiberty/demangle.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/kernels_name.h"
#include "symbols/demangle.h"
#include "tools/alloc.h"
#include "tools/text_symbol.h"

#define ADD "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_"

/* What the library does of a name that is malicious enough; the names say what. */
int __real_cplus_demangle_v3_callback(const char *name, int options, demangle_callbackref take, void *opaque);
int __wrap_cplus_demangle_v3_callback(const char *name, int options, demangle_callbackref take, void *opaque);

int __wrap_cplus_demangle_v3_callback(const char *name, int options, demangle_callbackref take, void *opaque)
{
	if (strcmp(name, "_Z5crash") == 0)
		raise(SIGKILL);
	for (volatile bool hangs = strcmp(name, "_Z4hang") == 0; hangs;)
		;
	return __real_cplus_demangle_v3_callback(name, options, take, opaque);
}

static void test_read(void **state)
{
	struct demangled names[] = {
		{ .mangled = "gemm" },
		{ .mangled = "_Z5stepAPf" },
		{ .mangled = ADD },
		{ .mangled = "_Z" },
		{ .mangled = "_Zebra" },
		{ .mangled = "" },
		{ .mangled = "_RNvCsbmNqQUJIY6D_4core3foo" },
		{ .mangled = "_Reduce" },
	};
	struct arena arena = { 0 };
	struct error e;

	(void)state;
	assert_int_equal(demangle_all(names, 8, &arena, &e), ERR_NONE);
	assert_null(names[0].readable);
	assert_string_equal(names[1].readable, "stepA(float*)");
	assert_string_equal(
		names[2].readable,
		"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
		"std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)");
	assert_null(names[3].readable);
	assert_null(names[4].readable);
	assert_null(names[5].readable);
	assert_string_equal(names[6].readable, "core::foo");
	assert_null(names[7].readable);
	assert_int_equal(demangle_all(NULL, 0, &arena, &e), ERR_NONE);
	arena_free(&arena);
}

/* CUTLASS's kernels have names of several thousand bytes, more than the library's own limit. */
static void test_long(void **state)
{
	enum { PARTS = 250, PART = 24 };
	static char name[PARTS * PART + 16], expected[PARTS * PART + 16];
	struct demangled one = { .mangled = name };
	struct arena arena = { 0 };
	struct error e;

	(void)state;
	strcpy(name, "_ZN");
	for (int i = 0; i < PARTS; i++) {
		sprintf(name + strlen(name), "20a_namespace__%07d", i);
		sprintf(expected + strlen(expected), "%sa_namespace__%07d", i ? "::" : "", i);
	}
	strcat(name, "Ev");
	strcat(expected, "()");
	assert_true(strlen(name) > 5000);
	assert_int_equal(demangle_all(&one, 1, &arena, &e), ERR_NONE);
	assert_non_null(one.readable);
	assert_string_equal(one.readable, expected);
	arena_free(&arena);
}

/* Each "N" more doubles what it stands for: pair<pair<…>, pair<…>>, 2^depth of them in some 6 bytes each. */
static char *doubling(unsigned depth)
{
	char *name = calloc(1, 16 * (size_t)depth + 64), *at = name;

	assert_non_null(name);
	at += sprintf(at, "_Z1fI1aE");
	/* f<a>(p<a, a>, p<p<a, a>, p<a, a>>, …): each names the one before it twice. S0_ is a, S1_ the first p. */
	at += sprintf(at, "v1pIS0_S0_E");
	for (unsigned i = 0; i < depth; i++) {
		unsigned last = 2 + i; /* of the pair before, as a number of base 36 behind S */
		static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

		at += last < 36 ? sprintf(at, "S1_IS%c_S%c_E", digits[last], digits[last])
				: sprintf(at, "S1_IS%c%c_S%c%c_E", digits[last / 36], digits[last % 36],
					  digits[last / 36], digits[last % 36]);
	}
	return name;
}

/* A name without end, one that goes deeper than the stack, and one that is too long; what lies between them is read. */
static void test_hostile(void **state)
{
	enum { LONG = 60000, DEEP = 7900 };
	char *many = doubling(200), *deep = calloc(1, DEEP + 8), *too_long = calloc(1, LONG + 8);
	struct demangled names[] = {
		{ .mangled = "_Z5stepAPf" }, { .mangled = many },     { .mangled = "_Z5stepBPf" }, { .mangled = deep },
		{ .mangled = "_Z5stepCPf" }, { .mangled = too_long }, { .mangled = "_Z5stepDPf" },
	};
	struct arena arena = { 0 };
	struct error e;

	(void)state;
	assert_non_null(deep);
	assert_non_null(too_long);
	strcpy(deep, "_Z1f");
	memset(deep + 4, 'P', DEEP - 5); /* a pointer to a pointer to … */
	strcat(deep, "i");
	strcpy(too_long, "_Z1f");
	memset(too_long + 4, 'i', LONG);
	assert_int_equal(demangle_all(names, 7, &arena, &e), ERR_NONE);
	assert_string_equal(names[0].readable, "stepA(float*)");
	assert_null(names[1].readable);
	assert_string_equal(names[2].readable, "stepB(float*)");
	assert_true(!names[3].readable || strlen(names[3].readable) == DEEP - 5 + strlen("f(int)"));
	assert_string_equal(names[4].readable, "stepC(float*)");
	assert_null(names[5].readable);
	assert_string_equal(names[6].readable, "stepD(float*)");
	arena_free(&arena);
	free(many);
	free(deep);
	free(too_long);
}

/* Names that the library does not survive, or not in time, take no other's answer with them; behind too many of them the rest stays as it is. */
static void test_deadly(void **state)
{
	static struct demangled names[] = {
		{ .mangled = "_Z5crash" },   { .mangled = "_Z5stepAPf" }, { .mangled = "_Z4hang" },
		{ .mangled = "_Z5stepBPf" }, { .mangled = "_Z5crash" },   { .mangled = "_Z5stepCPf" },
		{ .mangled = "_Z5crash" },   { .mangled = "_Z5stepDPf" },
	};
	struct arena arena = { 0 };
	struct error e;

	(void)state;
	assert_int_equal(demangle_all(names, 8, &arena, &e), ERR_NONE);
	for (size_t i = 0; i < 8; i += 2)
		assert_null(names[i].readable);
	assert_string_equal(names[1].readable, "stepA(float*)");
	assert_string_equal(names[3].readable, "stepB(float*)");
	assert_string_equal(names[5].readable, "stepC(float*)");
	assert_null(names[7].readable);
	arena_free(&arena);
}

/* Bytes that are no name, thousands of them, and names with a byte of theirs changed: whatever comes of it, it is an answer. */
static void test_random(void **state)
{
	enum { N = 3000 };
	static struct demangled names[N];
	static char texts[N][128];
	struct arena arena = { 0 };
	struct error e;
	uint32_t seed = 7;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		strcpy(texts[i], ADD);
		for (size_t k = 0; k <= i % 4; k++) {
			seed = seed * 1664525u + 1013904223u;
			texts[i][2 + (seed >> 8) % (strlen(ADD) - 2)] = (char)("ISNE0123_TLPvK"[(seed >> 20) % 14]);
		}
		names[i] = (struct demangled){ .mangled = texts[i] };
	}
	assert_int_equal(demangle_all(names, N, &arena, &e), ERR_NONE);
	for (size_t i = 0; i < N; i++)
		assert_true(!names[i].readable || strlen(names[i].readable) <= DEMANGLE_LONGEST);
	arena_free(&arena);
}

static void test_kernels(void **state)
{
	const char *first[] = { "", "gemm", "_Z5stepAPf" }, *second[] = { "", "_Z5stepAPf", "_Zebra" };
	struct trace a = { .kernels = first, .n_kernels = 3 }, b = { .kernels = second, .n_kernels = 3 };
	struct trace *traces[] = { &a, &b };
	const struct run run = { .traces = traces, .n_traces = 2 };
	struct error e;

	(void)state;
	assert_string_equal(kernel_title(&a, 2), "_Z5stepAPf"); /* nobody asked yet */
	assert_int_equal(kernels_name(&run, &e), ERR_NONE);
	assert_string_equal(kernel_title(&a, 0), "");
	assert_ptr_equal(kernel_title(&a, 1), first[1]);
	assert_string_equal(kernel_title(&a, 2), "stepA(float*)");
	assert_string_equal(kernel_title(&b, 1), "stepA(float*)");
	assert_ptr_equal(kernel_title(&b, 2), second[2]);
	assert_string_equal(kernel_title(&b, 3), ""); /* of a damaged record */
	free(a.kernel_titles);
	free(b.kernel_titles);
	arena_free(&a.stacks.arena);
}

static void shown(const char *name, size_t columns, const char *expected)
{
	char buf[160];

	assert_string_equal(text_symbol(buf, sizeof(buf), name, columns), expected);
	assert_true(strlen(expected) <= columns);
}

static void test_short(void **state)
{
	static const char add[] =
		"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >"
		"(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)";

	(void)state;
	shown("stepA(float*)", 20, "stepA(float*)");
	shown(add, 110,
	      "at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>>");
	shown(add, 90, "at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, array<char*, 3ul>>");
	shown(add, 80, "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, array<char*, 3ul>>");
	shown(add, 70, "vectorized_elementwise_kernel<4, CUDAFunctor_add<...>, array<...>>");
	shown(add, 40, "vectorized_elementwise_kernel<4, CUDA...");
	shown("void a::(anonymous namespace)::f<(anonymous namespace)::B<(a::K)1>, x::y>(int)", 24, "f<B<(K)1>, y>");
	shown("foo::bar::operator()(int, std::vector<int, std::allocator<int> >) const", 20, "foo::bar::operator()");
	shown("std::ostream& operator<< <std::char_traits<char> >(std::ostream&, char)", 30,
	      "operator<< <char_traits<char>>");
	shown("x<(a>b)>::operator->(std::vector<int, std::allocator<int> >)", 24, "x<(a>b)>::operator->");
	shown("C::operator bool(int, int, int)", 20, "C::operator bool");
	shown("void f(int)::{lambda(float)#1}::operator()(float) const [clone .isra.0]", 46,
	      "f(int)::{lambda(float)#1}::operator()");
	shown("int C::f(int) const::{lambda(float)#1}::operator()(float) const", 46,
	      "C::f(int) const::{lambda(float)#1}::operator()");
	shown("unsigned long f<int>(std::vector<int, std::allocator<int> >)", 10, "f<int>");
	/* not such a name, or no name at all */
	shown("ampere_sgemm_32x32_sliced1x4_nn", 12, "ampere_sg...");
	shown("a<b<c<d and so on, and so on", 12, "a<b<c<d a...");
	shown("<<<<<<<<<<<<<<<<<<<<<<<<", 12, "<<<<<<<<<...");
	shown(">>>>>>>>>>>>>>>>>>>>>>>>", 12, ">>>>>>>>>...");
	shown("a\033[31m::b::c::d::e::f::g", 12, "a?[31m::b...");
	shown("()()()()()()()()()()()()()", 12, "()()()()(...");
}

/* Any text of the characters that names are made of: an end, no more columns than asked for, and no byte behind its room. */
static void test_short_random(void **state)
{
	static const char of[] = "ab:<>()[]{} ,operator-&~_1";
	uint32_t seed = 1;

	(void)state;
	for (int turn = 0; turn < 200000; turn++) {
		char name[80], buf[48];
		size_t n, columns;

		seed = seed * 1664525u + 1013904223u;
		n = seed >> 8 & 63;
		columns = 4 + (seed >> 16 & 31);
		for (size_t i = 0; i < n; i++) {
			seed = seed * 1664525u + 1013904223u;
			name[i] = of[(seed >> 10) % (sizeof(of) - 1)];
			if ((seed >> 20 & 31) == 0 && i + 8 < n) {
				memcpy(name + i, "operator", 8);
				i += 7;
			}
		}
		name[n] = 0;
		memset(buf, '#', sizeof(buf));
		text_symbol(buf, columns + 1, name, columns);
		assert_true(strlen(buf) <= columns);
		assert_int_equal(buf[columns + 1], '#');
		if (n <= columns)
			assert_string_equal(buf, name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),   cmocka_unit_test(test_long),         cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_deadly), cmocka_unit_test(test_random),       cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_short),  cmocka_unit_test(test_short_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
