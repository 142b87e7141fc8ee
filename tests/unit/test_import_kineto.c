/* SPDX-License-Identifier: BSD-2-Clause */
/* Kineto's traces, one event after another, against the facts they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/kineto_expected.h"

static void test_a_call_and_its_kernel(void **state)
{
	(void)state;
	expect(LAUNCH(7) "," HEAD(
		       "kernel",
		       "gemm") "'pid':2,'tid':13,'ts':10.001,'dur':3,"
			       "'args':{'queued':0,'device':2,'context':4,'stream':13,'correlation':7,'grid':[8,1,1],'block':[128,1,1]}}",
	       "call 9/5 1500..3750 cudaLaunchKernel result=0 corr=7 stream=- device=- bytes=0 address=0\n"
	       "work 9 kind=1 10001..13001 gemm device=2 stream=13 context=4 corr=7 bytes=0 copy=0 node=0\n");
}

static void test_old_names_mean_the_same(void **state)
{
	(void)state;
	expect(HEAD("Runtime", "cudaMemcpyAsync") "'pid':9,'tid':'5','ts':100,'dur':20,'args':{'cbid':41,'correlation':8,'external id':2}}," HEAD(
		       "Memcpy",
		       "Memcpy HtoD (Pageable -> Device)") "'pid':0,'tid':'stream 7','ts':110,'dur':5,"
							   "'args':{'device':0,'context':1,'stream':7,'correlation':8,'external id':2,'bytes':4096,'memory bandwidth (GB/s)':0.8}}," HEAD("Memset", "Memset (Device)") "'pid':0,'tid':'stream 7','ts':120,'dur':1,'args':{'device':0,'stream':7,'correlation':9,'bytes':16}}," HEAD(
								   "Kernel",
								   "k") "'pid':0,'tid':'stream 20','ts':130,'dur':1,'args':{'device':0,'correlation':10}}," HEAD("Operator",
																				 "aten::add") "'pid':9,'tid':'5','ts':90,'dur':40,'args':{'Device':9,'Call stack':'a;b'}}," HEAD("Operator",
																																 "ProfilerStep#3") "'pid':9,'tid':'5','ts':80,'dur':70,'args':{}}",
	       "call 9/5 100000..120000 cudaMemcpyAsync result=0 corr=8 stream=- device=- bytes=0 address=0\n"
	       "op 9/5 kind=1 90000..130000 aten::add\n"
	       "op 9/5 kind=1 80000..150000 ProfilerStep#3\n"
	       "range 9/5 80000..150000 ProfilerStep#3 domain=\n"
	       "work 9 kind=2 110000..115000  device=0 stream=7 context=1 corr=8 bytes=4096 copy=1 node=0\n"
	       "work 9 kind=3 120000..121000  device=0 stream=7 context=0 corr=9 bytes=16 copy=0 node=0\n"
	       "work 9 kind=1 130000..131000 k device=0 stream=20 context=0 corr=10 bytes=0 copy=0 node=0\n");
}

static void test_what_threads_were_at(void **state)
{
	(void)state;
	expect(
		HEAD(
			"cpu_op", "aten::addmm") "'pid':9,'tid':5,'ts':1,'dur':2,'args':{'External id':1,'Input Dims':[[1,[2]],{}],'stream':3}}," HEAD("user_annotation", "ProfilerStep#7") "'pid':9,'tid':5,'ts':1,'dur':3}," HEAD("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__") "'pid':9,'tid':5,'ts':1,'dur':4}," HEAD("python_function", "train.py(12): step") "'pid':9,'tid':5,'ts':1,'dur':5,'args':{'Python id':4}}," HEAD("overhead",
																																																								      "Buffer Flush") "'pid':-1,'tid':77,'ts':2,'dur':1}," HEAD("overhead", "Resource") "'pid':9,'tid':5,'ts':2,'dur':2}," HEAD("gpu_user_annotation",
																																																																								"ProfilerStep#7") "'pid':0,'tid':7,'ts':1,'dur':3,'args':{'device':0,'stream':7}}," HEAD("cuda_sync", "Stream Wait Event") "'pid':0,'tid':7,'ts':1,'dur':3,'args':{'stream':7,'correlation':4,'device':0}}," HEAD("Trace",
																																																																																																		  "PyTorch Profiler (0)") "'pid':'Spans','tid':'PyTorch Profiler','ts':0,'dur':9}",
		"op 9/5 kind=1 1000..3000 aten::addmm\n"
		"range 9/5 1000..4000 ProfilerStep#7 domain=\n"
		"range 9/5 1000..5000 enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ domain=\n"
		"op 9/5 kind=1 1000..5000 enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\n"
		"op 9/5 kind=2 1000..6000 train.py(12): step\n"
		"op 9/0 kind=5 2000..3000 Buffer Flush\n"
		"op 9/5 kind=5 2000..4000 Resource\n");
}

static void test_allocations(void **state)
{
	(void)state;
	expect("{'ph':'i','cat':'cpu_instant_event','s':'t','name':'[memory]','pid':9,'tid':5,'ts':1.001,'args':{'Device Type':1,'Device Id':3,"
	       "'Addr':139926520725504,'Bytes':512,'Total Allocated':5435638784,'Total Reserved':12782141440}},"
	       "{'ph':'i','s':'t','name':'[memory]','pid':9,'tid':5,'ts':2,'args':{'Device Type':1,'Device Id':3,'Addr':139926520725504,'Bytes':-512,"
	       "'Total Allocated':0,'Total Reserved':12782141440}},"
	       "{'ph':'i','s':'t','name':'[memory]','pid':9,'tid':5,'ts':2.5,'args':{'Device Type':1,'Device Id':3,'Addr':64,'Bytes':512,'Total Allocated':-1}},"
	       "{'ph':'i','s':'t','name':'[memory]','pid':9,'tid':5,'ts':3,'args':{'Device Type':0,'Device Id':-1,'Addr':4,'Bytes':512}},"
	       "{'ph':'i','s':'t','name':'[memory]','pid':9,'tid':5,'ts':3,'args':{'Device Type':0,'Device Id':0,'Addr':4,'Bytes':512}},"
	       "{'ph':'i','s':'t','name':'[memory]','pid':9,'tid':5,'ts':3,'args':{'Device Type':1,'Device Id':0,'Bytes':512}},"
	       "{'ph':'i','s':'t','name':'[memory]','pid':9,'tid':5,'ts':3,'args':{'Device Type':1,'Device Id':0,'Addr':4}},"
	       "{'ph':'i','s':'g','name':'Record Window End','pid':'','tid':'','ts':9}",
	       "block 9/5 1001 device=3 139926520725504+512 allocated=5435638784 reserved=12782141440\n"
	       "block 9/5 2000 device=3 139926520725504+512 allocated=0 reserved=12782141440 freed\n"
	       "block 9/5 2500 device=3 64+512 allocated=- reserved=-\n"
	       "warn 1 event lacks a beginning, an end, or what it is about\n"
	       "warn 1 record of the allocator is left out: it names no address\n"
	       "left out 1, work 0\n");
}

static void test_amd(void **state)
{
	(void)state;
	expect(HEAD("cuda_runtime",
		    "hipMemcpyWithStream") "'pid':597913,'tid':597913,'ts':4203669603438.301,'dur':60.204,'args':{'stream':'0x7f00','cid':153,"
					   "'correlation':117,'src':'0x55674ecd4180','dst':'0x7fda0e810200','size':'2560','kind':'1'}}," HEAD("gpu_memcpy", "Memcpy HtoD (Host -> Device)") "'pid':2,'tid':0,'ts':4203669603454.206,'dur':22.441,'args':{'device':2,'stream':0,'correlation':117,'kind':'HtoD'}}," HEAD(
						   "kernel",
						   "Cijk") "'pid':2,'tid':3,'ts':4203669603847.969,'dur':17.6,'args':{'device':2,'queue':1,'correlation':121}}," HEAD("gpu_memcpy",
																				      "CopyDeviceToHost") "'pid':2,'tid':3,'ts':4203669603900,'dur':1,'args':{'correlation':122}}",
	       "call 597913/597913 4203669603438301..4203669603498505 hipMemcpyWithStream result=0 corr=117 stream=- device=- bytes=2560 address=0\n"
	       "work 597913 kind=2 4203669603454206..4203669603476647  device=2 stream=0 context=0 corr=117 bytes=0 copy=2 node=0\n"
	       "work 597913 kind=1 4203669603847969..4203669603865569 Cijk device=2 stream=1 context=0 corr=121 bytes=0 copy=0 node=0\n"
	       "work 597913 kind=2 4203669603900000..4203669603901000  device=2 stream=3 context=0 corr=122 bytes=0 copy=4 node=0\n");
}

static void test_copy_kinds(void **state)
{
	static const struct {
		const char *name;
		enum gst_copy_kind kind;
	} cases[] = {
		{ "Memcpy HtoD (Pageable -> Device)", GST_COPY_H2D_PAGEABLE },
		{ "Memcpy HtoD (Pinned -> Device)", GST_COPY_H2D_PINNED },
		{ "Memcpy DtoH (Device -> Pageable)", GST_COPY_D2H_PAGEABLE },
		{ "Memcpy DtoH (Device -> Pinned)", GST_COPY_D2H_PINNED },
		{ "Memcpy DtoD (Device -> Device)", GST_COPY_D2D },
		{ "Memcpy PtoP (Device -> Device)", GST_COPY_PEER },
		{ "Memcpy HtoA (Pageable -> Array)", GST_COPY_H2D_PAGEABLE },
		{ "Memcpy AtoD (Array -> Device)", GST_COPY_D2D },
		{ "Memcpy HtoH (Pinned -> Pinned)", GST_COPY_H2H },
		{ "CopyHostToDevice", GST_COPY_H2D_PINNED },
		{ "CopyDeviceToDevice", GST_COPY_D2D },
		{ "zeCommandListAppendMemoryCopy(D2M)", GST_COPY_D2H_PINNED },
		{ "Memcpy Unknown", GST_COPY_UNKNOWN },
		{ "", GST_COPY_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(kineto_copy_kind((struct import_text){ cases[i].name, strlen(cases[i].name) }),
				 cases[i].kind);
}

/* A text that is a number is that number; others get one that stays. */
static void test_processes_and_threads(void **state)
{
	(void)state;
	expect("{'ph':'M','name':'process_name','pid':9,'tid':0,'ts':0,'args':{'name':'python3.10'}},"
	       "{'ph':'M','name':'process_labels','pid':9,'tid':0,'args':{'labels':'CPU'}},"
	       "{'ph':'M','name':'process_name','pid':50,'tid':0,'args':{'name':'python3.10'}},"
	       "{'ph':'M','name':'process_labels','pid':50,'tid':0,'args':{'labels':'GPU 3'}},"
	       "{'ph':'M','name':'process_sort_index','pid':50,'tid':0,'args':{'sort_index':3}},"
	       "{'ph':'M','name':'thread_name','pid':50,'tid':7,'args':{'name':'stream 7 '}},"
	       "{'ph':'M','name':'thread_name','pid':9,'tid':'5','args':{'name':'thread 5 (pt_main_thread)'}},"
	       "{'ph':'M','name':'thread_name','pid':'9','tid':5,'args':{'name':'thread 5 (pt_main_thread)'}},"
	       "{'ph':'M','name':'thread_name','pid':9,'tid':-2,'args':{'name':'loader'}},"
	       "{'ph':'M','name':'thread_name','pid':9,'tid':5,'args':{'name':'pt_autograd_0'}}," HEAD(
		       "kernel", "k") "'pid':50,'tid':7,'ts':1,'dur':1,'args':{'correlation':7}}," LAUNCH(7),
	       "call 9/5 1500..3750 cudaLaunchKernel result=0 corr=7 stream=- device=- bytes=0 address=0\n"
	       "work 9 kind=1 1000..2000 k device=3 stream=7 context=0 corr=7 bytes=0 copy=0 node=0\n"
	       "command 9 python3.10\n"
	       "thread 9/5 pt_main_thread\n"
	       "thread 9/4294967294 loader\n"
	       "thread 9/5 pt_autograd_0\n");
}

static uint32_t tid_of(uint64_t tid)
{
	struct kineto_event e = { .said = KINETO_SAID(TID) };

	e.number[KINETO_FIELD_TID - KINETO_FIELD_PID] = tid;
	return kineto_tid(&e);
}

static void test_thread_numbers_of_64_bits(void **state)
{
	(void)state;
	assert_int_equal(tid_of(5), 5);
	assert_int_equal(tid_of(UINT32_MAX), UINT32_MAX);
	assert_int_equal(tid_of((uint64_t)-7), (uint32_t)-7);
	assert_true(tid_of(140234567890000) >> 31);
	assert_int_not_equal(tid_of(140234567890000), tid_of(140234567890944));
	assert_int_equal(tid_of(140234567890000), tid_of(140234567890000));
	assert_int_not_equal(tid_of(140234567890000), tid_of(140234567890000 + (1ull << 32)));
	assert_true(tid_of(1ull << 32 | 5) >> 31);
}

static void test_what_the_file_says_of_itself(void **state)
{
	(void)state;
	expect_of_file(
		"{'schemaVersion':1,'deviceProperties':[{'id':0,'name':'A100','totalGlobalMem':42297524224,'numSms':108},{'id':1,'name':'A100'}],"
		"'distributedInfo':{'backend':'nccl','rank':3,'world_size':16,'pg_config':[{'pg_name':'0','ranks':[0,1],'rank':9}]},"
		"'hostname':'node7','WARNING':['WARNING: 12 records dropped'],'INFO':['x'],'traceName':'/tmp/x.json',"
		"'traceEvents':[" HEAD("kernel", "k") "'pid':1,'tid':7,'ts':1,'dur':1,'args':{'device':1,'stream':7,'correlation':7}}," LAUNCH(
			7) "],'displayTimeUnit':'ms','baseTimeNanoseconds':1727743122000000000}",
		"host node7\n"
		"warn WARNING: 12 records dropped\n"
		"call 9/5 1500..3750 cudaLaunchKernel result=0 corr=7 stream=- device=- bytes=0 address=0\n"
		"epoch 1727743122000000000\n"
		"device 9/1 A100 memory=0 uuid=0000..00\n"
		"work 9 kind=1 1000..2000 k device=1 stream=7 context=0 corr=7 bytes=0 copy=0 node=0\n"
		"rank 9 3/16\n");
}

static void test_a_bare_list_of_events(void **state)
{
	(void)state;
	expect_of_file("[" LAUNCH(7) "," LAUNCH(8) "]",
		       "call 9/5 1500..3750 cudaLaunchKernel result=0 corr=7 stream=- device=- bytes=0 address=0\n"
		       "call 9/5 1500..3750 cudaLaunchKernel result=0 corr=8 stream=- device=- bytes=0 address=0\n");
	/* as a program that was killed leaves it */
	expect_of_file("[" LAUNCH(7) ",\n",
		       "call 9/5 1500..3750 cudaLaunchKernel result=0 corr=7 stream=- device=- bytes=0 address=0\n");
}

/* What stands where a pid should is the process's name, until it is said. */
static void test_processes_by_name(void **state)
{
	(void)state;
	expect(HEAD("cpu_op", "a") "'pid':'rank 1','tid':5,'ts':1,'dur':1}," HEAD(
		       "cpu_op", "b") "'pid':'rank 2','tid':5,'ts':1,'dur':1},"
				      "{'ph':'M','name':'process_name','pid':'rank 2','args':{'name':'python'}}," HEAD(
					      "cpu_op", "c") "'pid':'trainer','tid':5,'ts':1,'dur':1}",
	       "op 5267585466361556316/5 kind=1 1000..2000 a\n"
	       "op 5267588764896440949/5 kind=1 1000..2000 b\n"
	       "op 7850579529631848706/5 kind=1 1000..2000 c\n"
	       "command 5267585466361556316 rank 1\n"
	       "command 5267588764896440949 python\n"
	       "command 7850579529631848706 trainer\n");
}

/* Devices are named once each, however many there are. */
static void test_many_devices(void **state)
{
	struct import_build b = { 0 };
	struct error damage = { 0 }, e = { 0 };
	FILE *file = fopen(path, "w");

	(void)state;
	assert_non_null(file);
	fputs("{\"deviceProperties\":[{\"id\":1,\"name\":\"A\"},{\"id\":65000,\"name\":\"B\"}],\"traceEvents\":[",
	      file);
	for (unsigned i = 0; i < 200000; i++)
		fprintf(file, "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":%u,\"dur\":1,\"args\":{\"device\":%u}}",
			i ? "," : "", i, i % 65001);
	fputs("]}", file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(import_kineto(&b, path, &damage, &e), ERR_NONE);
	assert_int_equal(b.facts, 200002);
	seen_free(&b);
}

static void test_what_is_not_known_is_told(void **state)
{
	(void)state;
	expect(HEAD("mtia_ccp_events", "dma_request") "'pid':9,'tid':801,'ts':1,'dur':8,'args':{'direction':'DEVICE_TO_HOST','stream':3}}," HEAD(
		       "mtia_ccp_events",
		       "dma_request") "'pid':9,'tid':801,'ts':1,'dur':8,'args':{'stream':3}}," HEAD("toplevel",
												    "task") "'pid':9,'tid':801,'ts':1,'dur':8},"
													    "{'ph':'C','name':'counter','pid':9,'ts':1,'args':{'device':1}}",
	       "warn 2 events that name a device or a stream are left out: their category, \"mtia_ccp_events\", is not known\n"
	       "warn 1 event is left out: its category, \"toplevel\", is not known\n"
	       "left out 2, work 2\n");
}

/* NaN is no time and no size; what else the event says counts. */
static void test_numbers_that_are_none(void **state)
{
	(void)state;
	expect(HEAD("kernel", "k") "'pid':0,'tid':7,'ts':4,'dur':NaN,'args':{'device':0}}," HEAD(
		       "gpu_memcpy",
		       "Memcpy DtoD") "'pid':0,'tid':7,'ts':4,'dur':1,'args':{'device':0,'stream':7,'bytes':nan,'memory bandwidth (GB/s)':inf}}",
	       "warn it is no JSON in 3 places (NaN, inf, characters that a text may not hold), first at byte 82\n"
	       "work 0 kind=2 4000..5000  device=0 stream=7 context=0 corr=0 bytes=0 copy=5 node=0\n"
	       "warn 1 event lacks a beginning, an end, or what it is about\nleft out 1, work 1\n");
}

static void test_what_cannot_be_is_lost(void **state)
{
	(void)state;
	expect(HEAD("kernel", "k") "'pid':0,'tid':7,'ts':1,'dur':-1}," HEAD("kernel", "k") "'pid':0,'tid':7,'dur':1}," HEAD(
		       "cpu_op",
		       "o") "'pid':9,'tid':7,'ts':1}," HEAD("cpu_op",
							    "o") "'pid':9,'tid':7,'ts':'x','dur':2}," HEAD("cpu_op",
													   "o") "'pid':9,'tid':7,'ts':1e300,'dur':2},"
														"{'cat':'kernel'},{},[],7,'text',null",
	       "warn 7 events lack a beginning, an end, or what they are about\nleft out 7, work 3\n");
}

static void test_places_are_those_of_the_file(void **state)
{
	struct import_build b;
	struct error damage = { 0 }, e = { 0 };
	char *json = malloc(1200000), line[64], *at = json;
	long places[3];

	(void)state;
	assert_non_null(json);
	at += sprintf(at, "{\"traceEvents\": [\n");
	places[0] = at - json;
	at += sprintf(at, "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1},");
	memset(at, ' ', 600000); /* more than is read at once */
	at += 600000;
	places[1] = at - json;
	at += sprintf(at, "{\"args\":{\"junk\":\"");
	memset(at, 'x', 500000);
	at += 500000;
	at += sprintf(at,
		      "\"},\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1},");
	places[2] = at - json;
	at += sprintf(at, "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"c\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}]}");
	put(json, (size_t)(at - json));
	b = (struct import_build){ 0 };
	assert_int_equal(import_kineto(&b, path, &damage, &e), ERR_NONE);
	assert_int_equal(damage.kind, ERR_NONE);
	for (size_t i = 0; i < 3; i++) {
		sprintf(line, "op 1/1 kind=1 1000..2000 %c @0:%ld\n", (char)('a' + i), places[i]);
		assert_non_null(strstr((b.lines ? b.lines : ""), line));
	}
	seen_free(&b);
	free(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_call_and_its_kernel),
		cmocka_unit_test(test_old_names_mean_the_same),
		cmocka_unit_test(test_what_threads_were_at),
		cmocka_unit_test(test_allocations),
		cmocka_unit_test(test_amd),
		cmocka_unit_test(test_copy_kinds),
		cmocka_unit_test(test_processes_and_threads),
		cmocka_unit_test(test_thread_numbers_of_64_bits),
		cmocka_unit_test(test_what_the_file_says_of_itself),
		cmocka_unit_test(test_a_bare_list_of_events),
		cmocka_unit_test(test_processes_by_name),
		cmocka_unit_test(test_many_devices),
		cmocka_unit_test(test_what_is_not_known_is_told),
		cmocka_unit_test(test_numbers_that_are_none),
		cmocka_unit_test(test_what_cannot_be_is_lost),
		cmocka_unit_test(test_places_are_those_of_the_file),
	};

	return cmocka_run_group_tests(tests, make_file, drop_file);
}
