/* SPDX-License-Identifier: BSD-2-Clause */
/* server_linked: an inference server. One or two executors, each with a connection to the load balancer and a stream of its own, one device,
 * which another tenant may use as well (SIMGPU_SHARED). Another thread throws old entries out of the prefix cache.
 *
 * A request: read from the socket, tokenised, looked up in the cache, given device memory for its attention state; its prompt is copied and
 * run, then token after token, each read back before the next one; the answer is sent, a line of the access log is written to a pipe.
 *
 *   input-network      in recv, until the request is whole; the balancer, on another machine, thinks for that long before it sends
 *   host-compute       tokenising; where the clock jumps, the thread had no CPU (cpu-contention)
 *   host-lock          in pthread_mutex_lock, while the cache's keeper computes with the lock held, or the other executor has it
 *   allocator          cuMemAlloc of each layer's state, cuMemFree of it in the end
 *   sync-bubble        each token: from the kernel's end until the copy that reads it has returned and the next is launched
 *   output-io          the reply's send; the log's write, to a pipe whose reader is slow
 *   device-contention  a kernel is in the queue and the other tenant's run: when they did, its own log of the driver says (its runner adds that)
 *
 * The thread that a gap is about is the one whose "submit" stretch has the submission that ended it. */
#include "truth.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define EXECUTORS 2
#define LAYERS_MAX 16
#define PROMPT_MAX (64 << 10)
#define TOKENS_MAX 40

struct request { /* as it comes: then so many bytes, and the time that tokenising them takes here */
	uint32_t id, bytes, tokens, tokenise_ns;
};

struct executor {
	pthread_t thread;
	unsigned number;
	int peer;
	CUstream stream;
	CUdeviceptr prompt;
	char *pinned;
	unsigned long served, generated;
};

static struct executor executors[EXECUTORS];
static long n_executors, layers, state_bytes, line_bytes;
static bool pinned_memory;
static int access_log;
static CUcontext context;
static CUfunction prefill, decode;
static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;
static atomic_int stopping, holder_tid; /* holder_tid: who has the cache's lock, or had it last */
static unsigned long cached[256];

/* ---- the cache's keeper ----------------------------------------------------------------------------------------------------- */

static void lock_cache(void)
{
	pthread_mutex_lock(&cache);
	atomic_store(&holder_tid, (int)syscall(SYS_gettid));
}

static void *keep_cache(void *unused)
{
	(void)unused;
	seed_open(20);
	truth_thread("holder");
	while (!atomic_load(&stopping)) {
		sleep_for(draw_ns(MS, 30 * MS));
		lock_cache();
		phase("host-lock");
		compute(draw_ns(MS / 5, 12 * MS));
		memset(cached, 0, sizeof(cached) / 2);
		phase(NULL);
		pthread_mutex_unlock(&cache);
	}
	return NULL;
}

static void look_up(uint32_t id)
{
	phase_waits("host-lock", atomic_load(&holder_tid));
	lock_cache();
	phase("host-compute");
	cached[id % 256]++;
	pthread_mutex_unlock(&cache);
}

/* ---- an executor ------------------------------------------------------------------------------------------------------------- */

static bool receive(int peer, void *to, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = recv(peer, (char *)to + done, size - done, 0);

		if (n <= 0) {
			REQUIRE(n == 0 && done == 0);
			return false;
		}
		done += (size_t)n;
	}
	return true;
}

static void allocate(CUdeviceptr *state)
{
	phase("allocator");
	for (long i = 0; i < layers; i++)
		CHECK(cuMemAlloc(&state[i], (size_t)state_bytes));
}

static void give_back(CUdeviceptr *state)
{
	phase("allocator");
	for (long i = 0; i < layers; i++)
		CHECK(cuMemFree(state[i]));
}

/* A launch, and the stretch that it may be in: the driver's log has the submission's own time. */
static void submit(CUfunction kernel, CUstream stream)
{
	long begin = now_ns();

	launch(kernel, stream);
	span("submit", "none", -1, begin, now_ns());
}

static void generate(struct executor *e, const char *prompt, const struct request *r, uint32_t *tokens)
{
	long begin;

	phase("sync-bubble|launch-bound");
	begin = now_ns();
	if (pinned_memory)
		memcpy(e->pinned, prompt, r->bytes);
	CHECK(cuMemcpyHtoDAsync(e->prompt, pinned_memory ? e->pinned : prompt, r->bytes, e->stream));
	span("submit", "none", -1, begin, now_ns());
	submit(prefill, e->stream);
	phase("sync-bubble");
	for (uint32_t t = 0; t < r->tokens; t++) {
		submit(decode, e->stream);
		begin = now_ns();
		CHECK(cuMemcpyDtoHAsync(&tokens[t], e->prompt, sizeof(tokens[t]), e->stream));
		CHECK(cuStreamSynchronize(e->stream));
		span("submit", "none", -1, begin, now_ns());
		e->generated++;
	}
}

static void reply(const struct executor *e, const struct request *r, const uint32_t *tokens)
{
	size_t size = r->tokens * sizeof(*tokens);

	phase("output-io");
	REQUIRE(send(e->peer, tokens, size, MSG_NOSIGNAL) == (ssize_t)size);
}

static void log_access(const struct executor *e, const struct request *r, const char *prompt)
{
	char line[4096];
	int n = snprintf(line, sizeof(line), "executor %u request %u bytes %u tokens %u prompt ", e->number, r->id,
			 r->bytes, r->tokens);

	phase_waits("output-io", companion("FURTHER_READER"));
	for (; n < line_bytes; n++)
		line[n] = (char)('a' + (unsigned char)prompt[n % (int)r->bytes] % 26);
	line[n++] = '\n';
	REQUIRE(write(access_log, line, (size_t)n) == n);
}

static void serve(struct executor *e)
{
	static __thread char prompt[PROMPT_MAX];
	CUdeviceptr state[LAYERS_MAX];
	uint32_t tokens[TOKENS_MAX];
	struct request r;

	for (;;) {
		phase("input-network");
		if (!receive(e->peer, &r, sizeof(r)))
			return;
		REQUIRE(r.bytes > 0 && r.bytes <= PROMPT_MAX && r.tokens <= TOKENS_MAX);
		REQUIRE(receive(e->peer, prompt, r.bytes));
		phase("host-compute");
		compute(r.tokenise_ns);
		look_up(r.id);
		allocate(state);
		generate(e, prompt, &r, tokens);
		give_back(state);
		reply(e, &r, tokens);
		log_access(e, &r, prompt);
		e->served++;
	}
}

static void *execute(void *arg)
{
	struct executor *e = arg;
	long begin;

	truth_thread("main");
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuStreamCreate(&e->stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&e->prompt, PROMPT_MAX));
	CHECK(cuMemHostAlloc((void **)&e->pinned, PROMPT_MAX, 0));
	begin = now_ns();
	serve(e);
	phase(NULL);
	span("thread", "loop", -1, begin, now_ns());
	return NULL;
}

/* ---- the server --------------------------------------------------------------------------------------------------------------- */

/* The load balancer finds the port in a file. */
static int listen_somewhere(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FILE *file;

	REQUIRE(fd >= 0 && bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, EXECUTORS) == 0);
	REQUIRE(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
	REQUIRE((file = fopen("port.new", "w")) != NULL);
	fprintf(file, "%d %ld\n", ntohs(address.sin_port), n_executors);
	fclose(file);
	REQUIRE(rename("port.new", "port") == 0);
	return fd;
}

static void open_device(void)
{
	CUmodule module;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, "model"));
	prefill = kernel_of(module, "prefill", draw_int(200, 2000));
	decode = kernel_of(module, "decode", draw_int(30, 120));
}

int main(void)
{
	unsigned long served = 0, generated = 0;
	pthread_t keeper;
	int listening;

	seed_open(2);
	n_executors = draw_int(1, EXECUTORS);
	layers = draw_int(2, LAYERS_MAX);
	state_bytes = draw_int(1, 16) << 20;
	line_bytes = draw_int(200, 2000);
	pinned_memory = draw_one_in(2);
	access_log = log_open();
	open_device();
	listening = listen_somewhere();
	for (long i = 0; i < n_executors; i++) {
		executors[i].number = (unsigned)i;
		REQUIRE((executors[i].peer = accept4(listening, NULL, NULL, SOCK_CLOEXEC)) >= 0);
	}
	REQUIRE(pthread_create(&keeper, NULL, keep_cache, NULL) == 0);
	for (long i = 0; i < n_executors; i++)
		REQUIRE(pthread_create(&executors[i].thread, NULL, execute, &executors[i]) == 0);
	for (long i = 0; i < n_executors; i++)
		pthread_join(executors[i].thread, NULL);
	atomic_store(&stopping, 1);
	pthread_join(keeper, NULL);
	for (long i = 0; i < n_executors; i++) {
		served += executors[i].served;
		generated += executors[i].generated;
	}
	printf("%lu requests, %lu tokens\n", served, generated);
	CHECK(cuDevicePrimaryCtxRelease(0));
	truth_close();
	return 0;
}
