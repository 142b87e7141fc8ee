/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose the devices' work is, in Kineto's traces of several processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/kineto_expected.h"

static void test_work_of_several_processes(void **state)
{
	static const char
		*const
			events = HEAD("cuda_runtime", "a") "'pid':1,'tid':1,'ts':1,'dur':1,'args':{'correlation':1}}," HEAD("cuda_runtime", "b") "'pid':2,'tid':2,'ts':1,'dur':1,'args':{'correlation':1}}," HEAD("cuda_runtime", "b") "'pid':2,'tid':2,'ts':2,'dur':1,'args':{'correlation':5}}," HEAD("cuda_runtime", "a") "'pid':1,'tid':1,'ts':2,'dur':1,'args':{'correlation':6}}," HEAD("cuda_runtime", "a") "'pid':1,'tid':1,'ts':3,'dur':1,'args':{'correlation':7}}," HEAD("kernel", "k") "'pid':100,'tid':1,'ts':11,'dur':1,'args':{'device':0,'stream':7,'correlation':5}}," HEAD("kernel", "k") "'pid':100,'tid':1,'ts':12,'dur':1,'args':{'device':0,'stream':7,'correlation':1}}," HEAD("kernel", "k") "'pid':101,'tid':1,'ts':13,'dur':1,'args':{'device':1,'stream':7,'correlation':1}}," HEAD(
				"kernel",
				"k") "'pid':101,'tid':1,'ts':14,'dur':1,'args':{'device':1,'stream':7,'correlation':6}}," HEAD("kernel",
															       "k") "'pid':102,'tid':1,'ts':15,'dur':1,'args':{'device':1,'stream':7}}," HEAD("kernel",
																									      "k") "'pid':2,'tid':7,'ts':16,'dur':1,'args':{'device':0,'stream':7}}";

	(void)state;
	expect(events,
	       "call 1/1 1000..2000 a result=0 corr=1 stream=- device=- bytes=0 address=0\n"
	       "call 2/2 1000..2000 b result=0 corr=1 stream=- device=- bytes=0 address=0\n"
	       "call 2/2 2000..3000 b result=0 corr=5 stream=- device=- bytes=0 address=0\n"
	       "call 1/1 2000..3000 a result=0 corr=6 stream=- device=- bytes=0 address=0\n"
	       "call 1/1 3000..4000 a result=0 corr=7 stream=- device=- bytes=0 address=0\n"
	       "work 2 kind=1 11000..12000 k device=0 stream=7 context=0 corr=5 bytes=0 copy=0 node=0\n"
	       "work 2 kind=1 12000..13000 k device=0 stream=7 context=0 corr=1 bytes=0 copy=0 node=0\n"
	       "work 1 kind=1 13000..14000 k device=1 stream=7 context=0 corr=1 bytes=0 copy=0 node=0\n"
	       "work 1 kind=1 14000..15000 k device=1 stream=7 context=0 corr=6 bytes=0 copy=0 node=0\n"
	       "work 1 kind=1 15000..16000 k device=1 stream=7 context=0 corr=0 bytes=0 copy=0 node=0\n" /* the one with most calls */
	       "work 2 kind=1 16000..17000 k device=0 stream=7 context=0 corr=0 bytes=0 copy=0 node=0\n");
}

static void test_work_alone(void **state)
{
	(void)state;
	expect(HEAD("kernel", "k") "'pid':3,'tid':7,'ts':1,'dur':1}",
	       "work 3 kind=1 1000..2000 k device=3 stream=7 context=0 corr=0 bytes=0 copy=0 node=0\n");
	expect(HEAD("kernel", "k") "'ts':1,'dur':0}",
	       "work 0 kind=1 1000..1000 k device=0 stream=- context=0 corr=0 bytes=0 copy=0 node=0\n");
}

#define NAMED(name, pid, ts, corr) \
	HEAD("cuda_runtime", name) "'pid':" #pid ",'tid':1,'ts':" #ts ",'dur':1,'args':{'correlation':" #corr "}},"
#define CALL(pid, ts, corr) NAMED("f", pid, ts, corr)
#define KERNEL(pid, ts, device, corr) \
	HEAD("kernel", "k")           \
	"'pid':" #pid ",'tid':7,'ts':" #ts ",'dur':1,'args':{'device':" #device ",'correlation':" #corr "}}"

/* The owners of the work alone, in order. */
static void expect_owners(const char *events, const char *owners, unsigned guessed)
{
	char json[8192], words[128], seen[64] = "";
	struct import_build b = { 0 };
	struct error damage = { 0 }, e = { 0 };
	char *text;

	assert_true((size_t)snprintf(json, sizeof(json), "{'traceEvents': [%s]}", events) < sizeof(json));
	text = quoted(json);
	put(text, strlen(text));
	assert_int_equal(import_kineto(&b, path, &damage, &e), ERR_NONE);
	for (const char *at = b.lines; (at = strstr(at, "\nwork ")); at++)
		strncat(seen, at + strlen("\nwork "), 1);
	assert_string_equal(seen, owners);
	snprintf(words, sizeof(words), "warn of %u piece", guessed);
	assert_int_equal(strstr(b.lines, words) != NULL, guessed > 0);
	assert_int_equal(strstr(b.lines, "guessed") != NULL, guessed > 0);
	seen_free(&b);
	free(text);
}

/* Two ranks that do the same, put together: 1 and 2, whose devices are drawn as 5 and 6. */
static void test_ranks_with_the_same_numbers(void **state)
{
	(void)state;
	expect_owners(CALL(1, 1, 7) CALL(2, 1, 7) CALL(1, 5, 8) CALL(2, 5, 8)
			      KERNEL(5, 3, 0, 7) "," KERNEL(6, 3, 1, 7) "," KERNEL(5, 8, 0, 8) "," KERNEL(6, 8, 1, 8),
		      "1212", 4);
	/* 1 calls too late for what is drawn on 5 */
	expect_owners(CALL(1, 4, 7) CALL(2, 1, 7) CALL(1, 9, 8) CALL(2, 5, 8)
			      KERNEL(5, 3, 0, 7) "," KERNEL(6, 6, 1, 7) "," KERNEL(5, 8, 0, 8) "," KERNEL(6, 12, 1, 8),
		      "2121", 4);
	/* one number that is 2's alone decides for all of its line, and leaves 1 the other */
	expect_owners(CALL(1, 1, 7) CALL(2, 1, 7) CALL(2, 2, 9)
			      KERNEL(5, 3, 0, 7) "," KERNEL(6, 3, 1, 7) "," KERNEL(5, 8, 0, 9),
		      "212", 1);
	/* nobody says a number */
	expect_owners(HEAD("cuda_runtime", "f") "'pid':1,'tid':1,'ts':1,'dur':1}," HEAD(
			      "cuda_runtime", "f") "'pid':2,'tid':1,'ts':1,'dur':1}," KERNEL(5, 3, 0, 7),
		      "1", 0);
	/* both devices drawn as one: nothing tells them apart */
	expect_owners(CALL(1, 1, 7) CALL(2, 2, 7) KERNEL(5, 3, 0, 7) "," KERNEL(5, 4, 0, 7), "11", 2);
}

/* 1's first kernels, on 5, were launched before the trace; 2 has their numbers. */
static void test_calls_before_the_trace(void **state)
{
	(void)state;
	/* 2 called later than they ran */
	expect_owners(CALL(1, 21, 2) CALL(1, 31, 3) CALL(2, 4, 1) CALL(2, 24, 2) KERNEL(5, 3, 0, 1) "," KERNEL(
			      5, 23, 0, 2) "," KERNEL(5, 33, 0, 3) "," KERNEL(6, 6, 1, 1) "," KERNEL(6, 26, 1, 2),
		      "11122", 0);
	/* 2 is ahead, and so the only one that called in time: its call's work is on its own line */
	expect_owners(CALL(1, 32, 3) CALL(2, 1, 1) CALL(2, 11, 2) KERNEL(5, 3, 0, 1) "," KERNEL(5, 13, 0, 2) "," KERNEL(
			      5, 33, 0, 3) "," KERNEL(6, 2, 1, 1) "," KERNEL(6, 12, 1, 2),
		      "11122", 2);
	/* … which has nothing by that number: against its line, where most is 1's */
	expect_owners(CALL(1, 22, 2) CALL(1, 32, 3) CALL(2, 1, 1) CALL(2, 11, 9) KERNEL(5, 3, 0, 1) "," KERNEL(
			      5, 23, 0, 2) "," KERNEL(5, 33, 0, 3) "," KERNEL(6, 12, 1, 9),
		      "2112", 1);
	/* the same in any order: what most is counts */
	expect_owners(KERNEL(6, 12, 1, 9) "," KERNEL(5, 33, 0, 3) "," CALL(2, 11, 9) CALL(2, 1, 1)
			      KERNEL(5, 23, 0, 2) "," CALL(1, 32, 3) CALL(1, 22, 2) KERNEL(5, 3, 0, 1),
		      "2112", 1);
}

/* Two processes on one GPU's line. */
static void test_work_on_one_line(void **state)
{
	(void)state;
	expect_owners(CALL(1, 1, 1) CALL(1, 11, 2) CALL(2, 21, 103)
			      KERNEL(5, 2, 0, 1) "," KERNEL(5, 12, 0, 2) "," KERNEL(5, 22, 0, 103),
		      "112", 1);
	/* both have the number: the line's, and nobody knows */
	expect_owners(CALL(1, 1, 1) CALL(1, 11, 2) CALL(2, 12, 2)
			      KERNEL(5, 2, 0, 1) "," KERNEL(5, 13, 0, 2) "," KERNEL(5, 15, 0, 2),
		      "111", 2);
}

#define LAUNCHES(pid) NAMED("cudaLaunchKernel", pid, 2, 7) NAMED("hipExtModuleLaunchKernel", pid, 12, 8)
#define QUESTIONS(pid) NAMED("cudaGetDeviceCount", pid, 1, 7) NAMED("cudaGetDeviceCount", pid, 11, 8)
#define TWO_KERNELS KERNEL(5, 3, 0, 7) "," KERNEL(5, 13, 0, 8)

/* A call that asks for no work has a number as well. */
static void test_calls_that_submit_nothing(void **state)
{
	(void)state;
	expect_owners(QUESTIONS(3) LAUNCHES(1) TWO_KERNELS, "11", 0);
	expect_owners(LAUNCHES(1) QUESTIONS(3) TWO_KERNELS, "11", 0);
	/* 1 launched one of them before the trace */
	expect_owners(QUESTIONS(3) NAMED("cuLaunchKernel", 1, 12, 8) TWO_KERNELS, "11", 0);
	expect_owners(NAMED("cudaMalloc", 3, 1, 7) NAMED("cuLaunchKernel", 1, 12, 8) TWO_KERNELS, "11", 0);
	/* a name that nobody knows counts where its process has work */
	expect_owners(LAUNCHES(1) NAMED("cudaLaunchKernel", 2, 20, 109) NAMED("cudaNew", 2, 30, 110) TWO_KERNELS
		      "," KERNEL(5, 21, 0, 109) "," KERNEL(5, 31, 0, 110),
		      "1122", 2);
	expect_owners(LAUNCHES(1) NAMED("cudaLaunchKernel", 2, 20, 109) NAMED("cudaMalloc", 2, 30, 110) TWO_KERNELS
		      "," KERNEL(5, 21, 0, 109) "," KERNEL(5, 31, 0, 110),
		      "1121", 1);
	/* … and where nothing else is known of a line */
	expect_owners(LAUNCHES(1) NAMED("xpuNew", 2, 20, 109) TWO_KERNELS "," KERNEL(6, 21, 1, 109), "112", 0);
	/* a copy in two calls, one in the other: the name of either */
	expect_owners(QUESTIONS(1) NAMED("cuMemcpyNew", 3, 1, 7) NAMED("new", 3, 1, 7) KERNEL(5, 3, 0, 7), "3", 0);
}

/* A clock of the device's that is behind. */
static void test_calls_that_seem_later_than_their_work(void **state)
{
	(void)state;
	expect_owners(CALL(1, 1, 1) CALL(1, 2, 2) CALL(2, 11, 7) CALL(1, 20, 3)
			      KERNEL(5, 10, 0, 7) "," KERNEL(6, 3, 1, 1),
		      "21", 0);
}

/* One number for everything must not take the square of the time. */
static void test_one_number_for_all(void **state)
{
	enum { N = 50000 };
	char *json = malloc((size_t)N * 400), *at = json;
	struct import_build b = { 0 };
	struct error damage = { 0 }, e = { 0 };

	(void)state;
	assert_non_null(json);
	at += sprintf(at, "[");
	for (int i = 0; i < N; i++)
		at += sprintf(
			at,
			"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"f\",\"pid\":%d,\"tid\":1,\"ts\":%d,\"dur\":1,\"args\":{\"correlation\":1}},"
			"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":5,\"tid\":1,\"ts\":%d,\"dur\":1,\"args\":{\"device\":0,\"stream\":1,\"correlation\":1}},",
			1 + i % 2, 2 * i, 2 * i + 1);
	at += sprintf(at, "{}]");
	put(json, (size_t)(at - json));
	free(json);
	assert_int_equal(import_kineto(&b, path, &damage, &e), ERR_NONE);
	assert_non_null(strstr(b.lines, "warn of 49999 pieces of work it is guessed"));
	seen_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work_of_several_processes),
		cmocka_unit_test(test_work_alone),
		cmocka_unit_test(test_ranks_with_the_same_numbers),
		cmocka_unit_test(test_calls_before_the_trace),
		cmocka_unit_test(test_work_on_one_line),
		cmocka_unit_test(test_calls_that_submit_nothing),
		cmocka_unit_test(test_calls_that_seem_later_than_their_work),
		cmocka_unit_test(test_one_number_for_all),
	};

	return cmocka_run_group_tests(tests, make_file, drop_file);
}
