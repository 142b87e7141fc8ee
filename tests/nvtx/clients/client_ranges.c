/* SPDX-License-Identifier: BSD-2-Clause */
/* client_ranges WHAT…: does one thing after another of what programs do with NVTX, and prints what the calls returned. */
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

static nvtxEventAttributes_t event(const char *name)
{
	nvtxEventAttributes_t a = { .version = NVTX_VERSION,
				    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
				    .messageType = NVTX_MESSAGE_TYPE_ASCII,
				    .message.ascii = name };

	return a;
}

/* A call of the driver's: from the first one on there is a trace. */
static void driver(void)
{
	cuInit(0); /* which says no in a child of a process that has said it */
}

static void pushed(void)
{
	int outer = nvtxRangePushA("outer"), inner = nvtxRangePushA("inner"), first = nvtxRangePop();
	int wide = nvtxRangePushW(L"gr\u00fc\u00df \U0001f600"), second = nvtxRangePop(), last = nvtxRangePop();

	printf("pushed %d %d %d %d %d %d %d\n", outer, inner, first, wide, second, last, nvtxRangePop());
}

static void domains(void)
{
	nvtxDomainHandle_t a = nvtxDomainCreateA("alpha"), b = nvtxDomainCreateW(L"beta"),
			   again = nvtxDomainCreateA("alpha");
	nvtxEventAttributes_t e = event("in alpha");
	int levels[6];

	e.category = 7;
	e.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
	e.payload.dValue = 2.5;
	e.color = 0xff00ff00;
	nvtxDomainNameCategoryA(a, 7, "seven");
	nvtxNameCategoryW(7, L"default seven");
	levels[0] = nvtxDomainRangePushEx(a, &e);
	levels[1] = nvtxRangePushA("in default");
	e = event("in beta");
	e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	e.message.registered = nvtxDomainRegisterStringA(b, "registered 41");
	levels[2] = nvtxDomainRangePushEx(b, &e);
	levels[3] = nvtxDomainRangePop(a); /* not the innermost of the thread */
	levels[4] = nvtxRangePop();
	levels[5] = nvtxDomainRangePop(again == a ? b : NULL);
	nvtxDomainDestroy(a);
	printf("domains %d %d %d %d %d %d\n", levels[0], levels[1], levels[2], levels[3], levels[4], levels[5]);
}

static void *end_it(void *id)
{
	nvtxRangeEnd(*(nvtxRangeId_t *)id);
	return NULL;
}

static void started(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("gamma");
	nvtxEventAttributes_t e = event("started ex");
	nvtxRangeId_t a = nvtxRangeStartA("started a"), b, w = nvtxRangeStartW(L"started w");
	pthread_t thread;

	e.payloadType = NVTX_PAYLOAD_TYPE_INT32;
	e.payload.iValue = -5;
	b = nvtxDomainRangeStartEx(domain, &e);
	nvtxRangeEnd(a);
	nvtxRangeEnd(a);              /* again: nothing */
	nvtxRangeEnd(12345678901234); /* nobody's */
	nvtxRangeEnd(0);
	if (pthread_create(&thread, NULL, end_it, &b) == 0)
		pthread_join(thread, NULL);
	nvtxDomainRangeEnd(domain, w);
	printf("started %d %d %d\n", a != 0, b != 0 && b != a, w != b);
}

static void marked(void)
{
	nvtxEventAttributes_t e = event("mark ex");

	e.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
	e.payload.ullValue = 18446744073709551615ull;
	nvtxMarkA("mark 3");
	nvtxMarkW(L"mark w");
	nvtxMarkEx(&e);
	nvtxDomainMarkEx(nvtxDomainCreateA("alpha"), &e);
}

#define THREADS 4
#define ROUNDS 500

static void *thread_main(void *arg)
{
	char name[32];
	long wrong = 0;

	snprintf(name, sizeof(name), "thread %ld", (long)arg);
	for (int i = 0; i < ROUNDS; i++) {
		wrong += nvtxRangePushA(name) != 0;
		wrong += nvtxRangePushA("work") != 1;
		wrong += nvtxRangePop() != 1;
		wrong += nvtxRangePop() != 0;
	}
	return (void *)wrong;
}

static void threads(void)
{
	pthread_t all[THREADS];
	long wrong = 0;

	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&all[i], NULL, thread_main, (void *)i))
			exit(8);
	for (int i = 0; i < THREADS; i++) {
		void *one;

		pthread_join(all[i], &one);
		wrong += (long)one;
	}
	printf("threads %ld\n", wrong);
}

/* Two copies of NVTX, one of them in a library that is loaded now. */
static void copies(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	int (*push)(const char *, const char *) =
		handle ? (int (*)(const char *, const char *))dlsym(handle, "copy_push") : NULL;
	int (*pop)(const char *) = handle ? (int (*)(const char *))dlsym(handle, "copy_pop") : NULL;
	nvtxEventAttributes_t e = event("of the program");
	int levels[4];

	if (!push || !pop)
		exit(7);
	levels[0] = push("shared", "of the library");
	levels[1] = nvtxDomainRangePushEx(nvtxDomainCreateA("shared"), &e); /* one domain, whoever made it */
	levels[2] = pop("shared");
	levels[3] = nvtxDomainRangePop(nvtxDomainCreateA("shared"));
	printf("copies %d %d %d %d\n", levels[0], levels[1], levels[2], levels[3]);
}

/* The last bytes of a page with nothing behind it: whoever reads on dies. */
static char *at_the_edge(size_t bytes)
{
	long page = sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + page, (size_t)page, PROT_NONE))
		exit(6);
	return p + page - bytes;
}

static void hostile(void)
{
	char *edge = at_the_edge(6), *endless = at_the_edge(512), *cut = malloc(100001);
	nvtxEventAttributes_t e = event("short"), none = event("none");
	wchar_t odd[] = { 'a', 0x7fffffff, 0xd800, 'b', 0 };

	memcpy(edge, "edge!", 6);
	memset(endless, 'x', 512); /* without a terminator */
	for (int i = 0; i < 100000; i++)
		cut[i] = "\xc3\xa4"[(i + 1) % 2]; /* byte 512 is in the middle of a character */
	cut[100000] = 0;
	nvtxMarkA(edge);
	nvtxMarkA(endless);
	nvtxMarkA(cut);
	nvtxMarkA(NULL);
	nvtxMarkA("");
	nvtxMarkA("007");
	nvtxMarkA("big 12345678901234567890");
	nvtxMarkA("\x1b[2J\n\xff\xfe");
	nvtxMarkW(odd);
	nvtxMarkEx(NULL);
	e.size = 4; /* of the rest we know nothing */
	nvtxMarkEx(&e);
	none.messageType = 77;
	nvtxMarkEx(&none);
	none.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	none.message.registered = (nvtxStringHandle_t)(uintptr_t)0x1234;
	nvtxMarkEx(&none);
	none.payloadType = NVTX_PAYLOAD_TYPE_EXT;
	none.reserved0 = 3;
	none.payload.ullValue = 0;
	nvtxDomainMarkEx((nvtxDomainHandle_t)(uintptr_t)0xdeadbeef, &none);
	printf("hostile %d\n", nvtxRangePop());
	free(cut);
}

static void many(int n)
{
	char name[64];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "step %d", i);
		nvtxRangePushA(name);
		snprintf(name, sizeof(name), "%d different", i);
		nvtxRangePushA(name);
		nvtxRangePop();
		nvtxRangePop();
	}
}

/* Deeper than anybody records: the levels are right all the same. */
static void deep(void)
{
	int wrong = 0;

	for (int i = 0; i < 200; i++)
		wrong += nvtxRangePushA("deep") != i;
	for (int i = 199; i >= 0; i--)
		wrong += nvtxRangePop() != i;
	printf("deep %d\n", wrong);
}

static void more_domains(void)
{
	char name[32];

	for (int i = 0; i < 100; i++) {
		nvtxEventAttributes_t e = event("x");
		nvtxDomainHandle_t domain;

		snprintf(name, sizeof(name), "domain %d", i);
		domain = nvtxDomainCreateA(name);
		if (!domain)
			exit(5);
		nvtxDomainMarkEx(domain, &e);
	}
}

static void forked(void)
{
	pid_t pid;

	nvtxRangePushA("of the parent");
	pid = fork();
	if (pid == 0) {
		int level = nvtxRangePushA("before its file");

		driver();
		nvtxRangePushA("of the child");
		nvtxRangePop();
		printf("forked %d %d %d %d\n", level, nvtxRangePop(), nvtxRangePop(), nvtxRangePop());
		exit(0);
	}
	waitpid(pid, NULL, 0);
	nvtxRangePop();
}

/* As NCCL does. */
struct all_reduce {
	uint64_t comm;
	size_t bytes;
	int op;
};

static void payloads(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("NCCL");
	const uint64_t op_type = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 16,
		       schema = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 5;
	const nvtxPayloadEnum_t ops[] = { { "Sum", 0, 0 }, { "Product", 1, 0 } };
	const nvtxPayloadEnumAttr_t op = { .fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
							NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
							NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE |
							NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID,
					   .entries = ops,
					   .numEntries = 2,
					   .sizeOfEnum = sizeof(int),
					   .schemaId = op_type };
	const nvtxPayloadSchemaEntry_t fields[] = {
		{ .type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64, .name = "NCCL communicator ID" },
		{ .type = NVTX_PAYLOAD_ENTRY_TYPE_SIZE, .name = "Message size [bytes]" },
		{ .type = op_type, .name = "Reduction operation", .offset = offsetof(struct all_reduce, op) },
	};
	nvtxPayloadSchemaAttr_t attributes = { .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
							    NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
							    NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
							    NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
							    NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID,
					       .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
					       .entries = fields,
					       .numEntries = 3,
					       .payloadStaticSize = sizeof(struct all_reduce),
					       .schemaId = schema };
	const struct all_reduce first = { 0xabcdef, 4096, 1 }, second = { 0x77, 8192, 0 };
	uint64_t registered = nvtxPayloadEnumRegister(domain, &op),
		 named = nvtxPayloadSchemaRegister(domain, &attributes), own;
	nvtxPayloadData_t data[] = { { schema, sizeof(first), &first } };
	nvtxEventAttributes_t e = event("ncclAllReduce");
	double value = 1.5;
	int levels[4];

	attributes.fieldMask &= ~(uint64_t)NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
	own = nvtxPayloadSchemaRegister(NULL, &attributes);
	e.payloadType = NVTX_PAYLOAD_TYPE_EXT;
	e.reserved0 = 1;
	e.payload.ullValue = (uintptr_t)data;
	levels[0] = nvtxDomainRangePushEx(domain, &e);
	levels[1] = nvtxDomainRangePop(domain);
	e = event("ncclCommSplit");
	levels[2] = nvtxDomainRangePushEx(domain, &e);
	data[0] = (nvtxPayloadData_t){ schema, SIZE_MAX, &second };
	levels[3] = nvtxRangePopPayload(domain, data, 1);
	data[0] = (nvtxPayloadData_t){ own, sizeof(second), &second };
	nvtxMarkPayload(NULL, data, 1);
	data[0] = (nvtxPayloadData_t){ NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, sizeof(value), &value };
	nvtxMarkPayload(NULL, data, 1);
	printf("payloads %d %d %d %d %d %d %d %d\n", levels[0], levels[1], levels[2], levels[3], registered == op_type,
	       named == schema, own >= NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START, nvtxDomainIsEnabled(domain));
}

#define SIGNALS 200

static volatile sig_atomic_t handled, wrong;

static void handler(int signal)
{
	int level = nvtxRangePushA("handler");

	(void)signal;
	wrong += level < 0 || level > 1 || nvtxRangePop() != level;
	handled++;
}

/* In the middle of a push, of a pop, of a record. */
static void signals(void)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
	int pushes = 0, wrong_levels = 0;

	sigaction(SIGALRM, &action, NULL);
	handler(0); /* a text that is told of within its telling is there twice */
	for (; handled < SIGNALS; pushes++) {
		wrong_levels += nvtxRangePushA("interrupted") != 0;
		wrong_levels += nvtxRangePop() != 0;
		if (pushes == 0)
			setitimer(ITIMER_REAL, &often, NULL);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("signals %d %d %d\n", wrong_levels + (int)wrong, pushes, (int)handled);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*act)(void);
	} acts[] = {
		{ "driver", driver },     { "pushed", pushed },   { "domains", domains },
		{ "started", started },   { "marked", marked },   { "threads", threads },
		{ "hostile", hostile },   { "deep", deep },       { "forked", forked },
		{ "payloads", payloads }, { "signals", signals }, { "more-domains", more_domains },
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++) {
		size_t k = 0;

		if (strcmp(argv[i], "copies") == 0 && i + 1 < argc)
			copies(argv[++i]);
		else if (strcmp(argv[i], "many") == 0 && i + 1 < argc)
			many(atoi(argv[++i]));
		else if (strcmp(argv[i], "push") == 0 && i + 1 < argc)
			nvtxRangePushA(argv[++i]);
		else if (strcmp(argv[i], "start") == 0 && i + 1 < argc)
			nvtxRangeStartA(argv[++i]);
		else if (strcmp(argv[i], "pop") == 0)
			nvtxRangePop();
		else if (strcmp(argv[i], "kill") == 0)
			raise(SIGKILL);
		else if (strcmp(argv[i], "variable") == 0)
			printf("variable %s\n", getenv("NVTX_INJECTION64_PATH"));
		else if (strcmp(argv[i], "dlerror") == 0)
			printf("dlerror %s\n", dlerror());
		else if (strcmp(argv[i], "exec") == 0 && i + 1 < argc)
			execvp(argv[i + 1], argv + i + 1);
		else {
			while (k < sizeof(acts) / sizeof(acts[0]) && strcmp(acts[k].name, argv[i]) != 0)
				k++;
			if (k == sizeof(acts) / sizeof(acts[0]))
				return 2;
			acts[k].act();
		}
	}
	return 0;
}
