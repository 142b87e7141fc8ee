/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of Kineto's traces that come in two halves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/kineto_expected.h"

static void test_halves(void **state)
{
	(void)state;
	expect("{'ph':'B','cat':'cpu_op','name':'outer','pid':9,'tid':5,'ts':1},"
	       "{'ph':'B','cat':'cuda_runtime','name':'cudaMalloc','pid':9,'tid':5,'ts':2,'args':{'size':64}},"
	       "{'ph':'B','cat':'cpu_op','name':'elsewhere','pid':9,'tid':6,'ts':2},"
	       "{'ph':'E','pid':9,'tid':5,'ts':3,'args':{'correlation':4,'size':65}},"
	       "{'ph':'E','pid':9,'tid':5,'ts':4.5},"
	       "{'ph':'E','pid':9,'tid':5,'ts':5},"
	       "{'ph':'B','cat':'user_annotation','name':'epoch','pid':9,'tid':5,'ts':6},"
	       "{'ph':'b','cat':'user_annotation','name':'request','id':'0x10','pid':9,'tid':5,'ts':7},"
	       "{'ph':'n','cat':'user_annotation','name':'request','id':'0x10','pid':9,'tid':5,'ts':8},"
	       "{'ph':'e','cat':'user_annotation','name':'request','id':16,'pid':9,'tid':6,'ts':9},"
	       "{'ph':'B','cat':'kernel','name':'k','pid':0,'tid':7,'ts':8,'args':{'device':0,'stream':7}}",
	       "call 9/5 2000..3000 cudaMalloc result=0 corr=4 stream=- device=- bytes=64 address=0\n"
	       "op 9/5 kind=1 1000..4500 outer\n"
	       "range 9/5 7000..9000 request domain= started\n"
	       "range 9/5 6000..- epoch domain=\n"
	       "cut 8000\n"
	       "warn 3 events lack a beginning, an end, or what they are about\n"
	       "left out 3, work 1\n");
}

/* An end need not say its category: one that nothing is told of has its place among the others all the same. */
static void test_halves_that_tell_nothing(void **state)
{
	(void)state;
	expect("{'ph':'B','cat':'kernel','name':'k','pid':0,'tid':7,'ts':10},"
	       "{'ph':'B','cat':'gpu_user_annotation','name':'a','pid':0,'tid':7,'ts':12},"
	       "{'ph':'E','pid':0,'tid':7,'ts':15},"
	       "{'ph':'E','pid':0,'tid':7,'ts':20},"
	       "{'ph':'B','cat':'fwdbwd','name':'never ends','pid':0,'tid':7,'ts':21},"
	       "{'ph':'E','cat':'fwdbwd','pid':0,'tid':8,'ts':22},"
	       "{'ph':'b','cat':'fwdbwd','id':1,'pid':0,'tid':7,'ts':23},"
	       "{'ph':'B','cat':'fwdbwd','pid':0,'tid':7}",
	       "work 0 kind=1 10000..20000 k device=0 stream=7 context=0 corr=0 bytes=0 copy=0 node=0\n");
}

/* What an event's own texts say counts, whatever stands where they stood once its end comes. */
static void test_halves_drawn_on_streams(void **state)
{
	(void)state;
	expect("{'ph':'B','cat':'kernel','name':'k','pid':0,'tid':'stream 1','ts':0},"
	       "{'tid':'stream 1','name':'another key comes first','ph':'E','pid':0,'ts':5},"
	       "{'ph':'B','cat':'kernel','name':'k','pid':0,'tid':'stream 2','ts':10},"
	       "{'name':'stream 9stream 8','tid':'stream 2','ph':'E','pid':0,'ts':15},"
	       "{'ph':'B','cat':'kernel','name':'k','pid':0,'tid':'stream 3','ts':20},"
	       "{'tid':'stream 3','ph':'E','pid':0,'ts':25,'args':{'stream':4}}",
	       "work 0 kind=1 0..5000 k device=0 stream=1 context=0 corr=0 bytes=0 copy=0 node=0\n"
	       "work 0 kind=1 10000..15000 k device=0 stream=2 context=0 corr=0 bytes=0 copy=0 node=0\n"
	       "work 0 kind=1 20000..25000 k device=0 stream=4 context=0 corr=0 bytes=0 copy=0 node=0\n");
}

/* Of work that has one half only it is not known when it was done; of an operator nothing follows for the device. */
static void test_halves_of_work_alone(void **state)
{
	(void)state;
	expect("{'ph':'B','cat':'kernel','name':'k','pid':0,'tid':7,'ts':10},"
	       "{'ph':'E','cat':'gpu_memcpy','pid':0,'tid':8,'ts':15},"
	       "{'ph':'E','pid':0,'tid':8,'ts':15,'args':{'device':0}},"
	       "{'ph':'E','pid':0,'tid':8,'ts':15},"
	       "{'ph':'B','cat':'cpu_op','name':'o','pid':9,'tid':9,'ts':15,'args':{'device':0}}",
	       "cut 10000\n"
	       "warn 5 events lack a beginning, an end, or what they are about\nleft out 5, work 3\n");
}

/* It is a range without an end, and no operation of its thread. */
static void test_a_loader_that_never_ends(void **state)
{
	(void)state;
	expect("{'ph':'B','cat':'user_annotation','name':'enumerate(DataLoader)#x.__next__','pid':9,'tid':5,'ts':6}",
	       "range 9/5 6000..- enumerate(DataLoader)#x.__next__ domain=\n");
}

/* One that is out of its place costs no other: of an end without a beginning this is said, and of no other. */
static void test_a_half_astray(void **state)
{
	(void)state;
	expect("{'ph':'E','pid':0,'tid':7,'ts':5000},"
	       "{'ph':'B','cat':'kernel','name':'a','pid':0,'tid':7,'ts':10,'args':{'device':0}},"
	       "{'ph':'E','pid':0,'tid':7,'ts':20},"
	       "{'ph':'B','cat':'kernel','name':'b','pid':0,'tid':7,'ts':20,'args':{'device':0}},"
	       "{'ph':'E','pid':0,'tid':7,'ts':30}",
	       "work 0 kind=1 10000..20000 a device=0 stream=7 context=0 corr=0 bytes=0 copy=0 node=0\n"
	       "work 0 kind=1 20000..30000 b device=0 stream=7 context=0 corr=0 bytes=0 copy=0 node=0\n"
	       "warn 1 event lacks a beginning, an end, or what it is about\nleft out 1, work 0\n");
	expect("{'ph':'E','pid':9,'tid':5,'ts':12}," /* of a time at which others go on, which overlap */
	       "{'ph':'B','cat':'cpu_op','name':'a','pid':9,'tid':5,'ts':10},"
	       "{'ph':'E','pid':9,'tid':5,'ts':20},"
	       "{'ph':'B','cat':'cpu_op','name':'b','pid':9,'tid':5,'ts':15},"
	       "{'ph':'E','pid':9,'tid':5,'ts':25}",
	       "op 9/5 kind=1 10000..20000 a\n"
	       "op 9/5 kind=1 15000..25000 b\n"
	       "warn 1 event lacks a beginning, an end, or what it is about\nleft out 1, work 0\n");
	expect("{'ph':'B','cat':'kernel','name':'a','pid':0,'tid':7,'ts':20,'args':{'device':0}},"
	       "{'ph':'E','pid':0,'tid':7,'ts':10}," /* and nothing else is there */
	       "{'ph':'B','cat':'kernel','name':'b','pid':0,'tid':7,'ts':30,'args':{'device':0}},"
	       "{'ph':'E','pid':0,'tid':7,'ts':31}",
	       "work 0 kind=1 30000..31000 b device=0 stream=7 context=0 corr=0 bytes=0 copy=0 node=0\n"
	       "warn 1 event lacks a beginning, an end, or what it is about\nleft out 1, work 1\n");
	expect("{'ph':'B','cat':'cpu_op','name':'far','pid':9,'tid':5,'ts':1000000},"
	       "{'ph':'E','pid':9,'tid':5,'ts':1000001},"
	       "{'ph':'B','cat':'cuda_runtime','name':'f','pid':9,'tid':5,'ts':10,'args':{'correlation':1}},"
	       "{'ph':'E','pid':9,'tid':5,'ts':13},"
	       "{'ph':'B','cat':'cuda_runtime','name':'f','pid':9,'tid':5,'ts':13,'args':{'correlation':2}},"
	       "{'ph':'E','pid':9,'tid':5,'ts':16}",
	       "op 9/5 kind=1 1000000000..1000001000 far\n"
	       "call 9/5 10000..13000 f result=0 corr=1 stream=- device=- bytes=0 address=0\n"
	       "call 9/5 13000..16000 f result=0 corr=2 stream=- device=- bytes=0 address=0\n");
}

/* Each behind its beginning in the file: they belong together, whatever else is of that time, as where kernels of one stream overlap. */
static void test_halves_in_blocks(void **state)
{
	(void)state;
	expect("{'ph':'B','cat':'cpu_op','name':'third','pid':9,'tid':5,'ts':20},"
	       "{'ph':'E','pid':9,'tid':5,'ts':30},"
	       "{'ph':'B','cat':'cpu_op','name':'second','pid':9,'tid':5,'ts':10},"
	       "{'ph':'B','cat':'cpu_op','name':'nested','pid':9,'tid':5,'ts':10},"
	       "{'ph':'E','pid':9,'tid':5,'ts':12},"
	       "{'ph':'E','pid':9,'tid':5,'ts':20},"
	       "{'ph':'B','cat':'cpu_op','name':'first','pid':9,'tid':5,'ts':5},"
	       "{'ph':'E','pid':9,'tid':5,'ts':15}",
	       "op 9/5 kind=1 20000..30000 third\n"
	       "op 9/5 kind=1 10000..12000 nested\n"
	       "op 9/5 kind=1 10000..20000 second\n"
	       "op 9/5 kind=1 5000..15000 first\n");
}

/* A block ends within one that began in another: the times say what belongs together. At one of them what began before ends first, then comes what
 * takes no time, and what goes on is last. */
static void test_halves_torn_apart(void **state)
{
	(void)state;
	expect("{'ph':'B','cat':'cpu_op','name':'outer','pid':9,'tid':5,'ts':0},"
	       "{'ph':'B','cat':'cpu_op','name':'third','pid':9,'tid':5,'ts':20},"
	       "{'ph':'E','pid':9,'tid':5,'ts':30},"
	       "{'ph':'E','pid':9,'tid':5,'ts':40},"
	       "{'ph':'B','cat':'cpu_op','name':'second','pid':9,'tid':5,'ts':20},"
	       "{'ph':'E','pid':9,'tid':5,'ts':20},"
	       "{'ph':'E','pid':9,'tid':5,'ts':20},"
	       "{'ph':'B','cat':'cpu_op','name':'first','pid':9,'tid':5,'ts':10}",
	       "op 9/5 kind=1 20000..30000 third\n"
	       "op 9/5 kind=1 0..40000 outer\n"
	       "op 9/5 kind=1 20000..20000 second\n"
	       "op 9/5 kind=1 10000..20000 first\n");
	expect("{'ph':'E','pid':0,'tid':7,'ts':20,'args':{'device':0}},"
	       "{'ph':'B','cat':'kernel','name':'a','pid':0,'tid':7,'ts':10,'args':{'device':0}},"
	       "{'ph':'E','pid':0,'tid':7,'ts':40,'args':{'device':0}},"
	       "{'ph':'B','cat':'kernel','name':'b','pid':0,'tid':7,'ts':30,'args':{'device':0}},"
	       "{'ph':'B','cat':'kernel','name':'c','pid':0,'tid':7,'ts':40,'args':{'device':0}},"
	       "{'ph':'E','pid':0,'tid':7,'ts':40,'args':{'device':0}},"
	       "{'ph':'B','cat':'kernel','name':'d','pid':0,'tid':7,'ts':41,'args':{'device':0}},"
	       "{'ph':'B','cat':'kernel','name':'e','pid':0,'tid':8,'ts':10,'args':{'device':0}},"
	       "{'ph':'E','pid':0,'tid':8,'ts':11,'args':{'device':0}}",
	       "cut 41000\n"
	       "work 0 kind=1 10000..20000 a device=0 stream=7 context=0 corr=0 bytes=0 copy=0 node=0\n"
	       "work 0 kind=1 30000..40000 b device=0 stream=7 context=0 corr=0 bytes=0 copy=0 node=0\n"
	       "work 0 kind=1 40000..40000 c device=0 stream=7 context=0 corr=0 bytes=0 copy=0 node=0\n"
	       "work 0 kind=1 10000..11000 e device=0 stream=8 context=0 corr=0 bytes=0 copy=0 node=0\n"
	       "warn 1 event lacks a beginning, an end, or what it is about\nleft out 1, work 1\n");
}

#define HALF(phase, ts) "{'ph':'" phase "','cat':'cpu_op','name':'o','pid':9,'tid':5,'ts':" #ts "}"
#define PAIR(begin, end) HALF("B", begin) "," HALF("E", end)
#define OP(begin, end) "op 9/5 kind=1 " #begin "000.." #end "000 o\n"

/* No half says any number. */
static void test_an_end_that_says_nothing(void **state)
{
	(void)state;
	expect("{'ph':'E','ts':2}",
	       "warn 1 event lacks a beginning, an end, or what it is about\nleft out 1, work 0\n");
}

/* By time there is one pair more, and each that overlaps another is wrong. What begins next to a wrong time has no end of it. */
static void test_an_end_before_its_begin(void **state)
{
	(void)state;
	expect(PAIR(1, 15) "," PAIR(10, 25) "," PAIR(20, 35) "," PAIR(1000, 990) "," HALF("B", 980) "," PAIR(30, 45),
	       OP(1, 15) OP(10, 25) OP(20, 35) OP(
		       30, 45) "warn 2 events lack a beginning, an end, or what they are about\nleft out 2, work 0\n");
	expect(PAIR(1, 15) "," PAIR(10, 25) "," PAIR(24, 5),
	       OP(1, 15)
		       OP(10, 25) "warn 1 event lacks a beginning, an end, or what it is about\nleft out 1, work 0\n");
	expect(PAIR(50, 49) "," PAIR(100, 99),
	       "warn 2 events lack a beginning, an end, or what they are about\nleft out 2, work 0\n");
}

/* They are put together, and what overlaps stays as it is. */
static void test_an_end_in_front_of_its_begin(void **state)
{
	(void)state;
	expect(HALF("E", 28) "," HALF("B", 12) "," PAIR(1, 15) "," PAIR(10, 25) "," PAIR(20, 35),
	       OP(12, 28) OP(1, 15) OP(10, 25) OP(20, 35));
	expect(HALF("E", 20) "," HALF("B", 10) "," HALF("E", 40) "," HALF("B", 30), OP(10, 20) OP(30, 40));
	expect(HALF("B", 70) "," HALF("E", 60) "," HALF("B", 50) "," HALF("E", 40) "," HALF("B", 30) "," HALF(
		       "E", 20) "," HALF("B", 10),
	       OP(30, 40) OP(
		       10, 20) "warn 2 events lack a beginning, an end, or what they are about\nleft out 2, work 0\n");
}

/* What an end says stays its own, wherever it stands. */
static void test_an_id_whose_end_comes_first(void **state)
{
	(void)state;
	expect("{'ph':'e','cat':'cuda_runtime','name':'f','id':1,'pid':9,'tid':6,'ts':20,'args':{'correlation':4}},"
	       "{'ph':'b','cat':'cuda_runtime','name':'f','id':1,'pid':9,'tid':5,'ts':10}",
	       "call 9/5 10000..20000 f result=0 corr=4 stream=- device=- bytes=0 address=0\n");
}

static void test_a_process_that_has_a_text(void **state)
{
	(void)state;
	expect("{'ph':'B','cat':'cpu_op','name':'o','pid':'rank 1','tid':5,'ts':1},"
	       "{'name':'another key comes first','ph':'E','pid':'rank 1','tid':5,'ts':2}",
	       "op 5267585466361556316/5 kind=1 1000..2000 o\n"
	       "command 5267585466361556316 rank 1\n");
}

/* One number of two categories is of two events. */
static void test_an_id_is_one_of_a_category(void **state)
{
	(void)state;
	expect("{'ph':'b','cat':'user_annotation','name':'a','id':1,'pid':9,'tid':5,'ts':10},"
	       "{'ph':'b','cat':'cuda_runtime','name':'f','id':1,'pid':9,'tid':5,'ts':11},"
	       "{'ph':'e','cat':'user_annotation','name':'a','id':1,'pid':9,'tid':5,'ts':12},"
	       "{'ph':'e','name':'f','id':1,'pid':9,'tid':5,'ts':19}," /* the one that is open */
	       "{'ph':'e','name':'f','id':1,'pid':9,'tid':5,'ts':20}",
	       "range 9/5 10000..12000 a domain= started\n"
	       "call 9/5 11000..19000 f result=0 corr=0 stream=- device=- bytes=0 address=0\n"
	       "warn 1 event lacks a beginning, an end, or what it is about\nleft out 1, work 0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_halves),
		cmocka_unit_test(test_halves_that_tell_nothing),
		cmocka_unit_test(test_halves_drawn_on_streams),
		cmocka_unit_test(test_halves_of_work_alone),
		cmocka_unit_test(test_a_loader_that_never_ends),
		cmocka_unit_test(test_a_half_astray),
		cmocka_unit_test(test_halves_in_blocks),
		cmocka_unit_test(test_halves_torn_apart),
		cmocka_unit_test(test_an_end_that_says_nothing),
		cmocka_unit_test(test_an_end_before_its_begin),
		cmocka_unit_test(test_an_end_in_front_of_its_begin),
		cmocka_unit_test(test_an_id_whose_end_comes_first),
		cmocka_unit_test(test_a_process_that_has_a_text),
		cmocka_unit_test(test_an_id_is_one_of_a_category),
	};

	return cmocka_run_group_tests(tests, make_file, drop_file);
}
