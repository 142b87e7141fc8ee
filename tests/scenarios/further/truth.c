/* SPDX-License-Identifier: BSD-2-Clause */
/* truth.c: see truth.h. */
#include "truth.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#define JUMP   \
	(100 * \
	 US) /* between two readings of the clock, a few hundred ns apart, by a thread that computes: it lost its CPU */

#define LINES 32768 /* of a thread */

struct line {
	const char *cause, *role;
	long begin, end;
	int device, on, tid;
};

struct lines { /* of one thread */
	struct lines *next;
	struct line *all;
	size_t n;
	const char *role, *cause;
	long since;
	int tid, on;
};

static struct lines *threads;
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct lines *own;
static __thread uint64_t random_state;

long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- draws: splitmix64 -------------------------------------------------------------------------------------------------- */

int log_open(void)
{
	const char *path = getenv("FURTHER_LOG");
	int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : STDOUT_FILENO;

	REQUIRE(fd >= 0);
	return fd;
}

int companion(const char *name)
{
	const char *pid = getenv(name);

	return pid ? atoi(pid) : 0;
}

void seed_open(unsigned lane)
{
	const char *seed = getenv("SEED");

	random_state = (seed ? strtoull(seed, NULL, 10) : 1) * 1000003 + lane;
}

static uint64_t draw(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

long draw_int(long low, long high)
{
	return low + (long)(draw() % (uint64_t)(high - low + 1));
}

long draw_ns(long low, long high)
{
	double share = (double)(draw() >> 11) / (double)(1ull << 53);

	return (long)((double)low * pow((double)high / (double)low, share));
}

bool draw_one_in(long n)
{
	return draw() % (uint64_t)n == 0;
}

/* ---- lines --------------------------------------------------------------------------------------------------------------- */

static struct lines *of_this_thread(void)
{
	if (own)
		return own;
	REQUIRE((own = calloc(1, sizeof(*own))) != NULL);
	REQUIRE((own->all = malloc(LINES * sizeof(*own->all))) != NULL);
	memset(own->all, 1, LINES * sizeof(*own->all)); /* so that no page is missing later */
	own->tid = (int)syscall(SYS_gettid);
	own->role = "main";
	pthread_mutex_lock(&threads_lock);
	own->next = threads;
	threads = own;
	pthread_mutex_unlock(&threads_lock);
	return own;
}

static void add(struct lines *l, struct line line)
{
	REQUIRE(l->n < LINES);
	l->all[l->n++] = line;
}

static void phase_at(const char *cause, int on, long at)
{
	struct lines *l = of_this_thread();

	if (l->cause && at > l->since)
		add(l, (struct line){ l->cause, l->role, l->since, at, -1, l->on, l->tid });
	l->cause = cause;
	l->since = at;
	l->on = on;
}

void phase(const char *cause)
{
	phase_at(cause, 0, now_ns());
}

void phase_waits(const char *cause, int tid)
{
	phase_at(cause, tid, now_ns());
}

void truth_thread(const char *role)
{
	phase(NULL);
	of_this_thread()->role = role;
}

void span(const char *role, const char *cause, int device, long begin, long end)
{
	struct lines *l = of_this_thread();

	if (end > begin)
		add(l, (struct line){ cause, role, begin, end, device, 0, l->tid });
}

/* What only some lines have. */
static void write_more(char *more, size_t size, const struct line *line, const char *also)
{
	FILE *out = fmemopen(more, size, "w");

	REQUIRE(out != NULL);
	if (line->device >= 0)
		fprintf(out, ",\"device\":%d", line->device);
	if (line->on)
		fprintf(out, ",\"on\":%d", line->on);
	for (const char *comma = ",\"also\":["; also; comma = ",") {
		const char *end = strchrnul(++also, '|');

		fprintf(out, "%s\"%.*s\"%s", comma, (int)(end - also), also, *end ? "" : "]");
		also = *end ? end : NULL;
	}
	fputc('\0', out);
	fclose(out);
}

/* One write for each line: several processes append to the same file. */
static void write_line(int fd, const struct line *line)
{
	const char *also = strchr(line->cause, '|');
	char text[512], more[192];
	int n, first = also ? (int)(also - line->cause) : (int)strlen(line->cause);

	write_more(more, sizeof(more), line, also);
	n = snprintf(text, sizeof(text),
		     "{\"cause\":\"%.*s\",\"role\":\"%s\",\"step\":0,\"pid\":%d,\"tid\":%d,\"begin\":%ld,\"end\":%ld,"
		     "\"cpu\":0,\"queued\":0,\"throttled\":0%s}\n",
		     first, line->cause, line->role, getpid(), line->tid, line->begin, line->end, more);
	REQUIRE(write(fd, text, (size_t)n) == n);
}

void truth_close(void)
{
	const char *path = getenv("LAB_TRUTH");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
	struct lines *l, *next;

	phase(NULL);
	for (l = threads; l; l = next) {
		next = l->next;
		for (size_t i = 0; i < l->n && fd >= 0; i++)
			write_line(fd, &l->all[i]);
		free(l->all);
		free(l);
	}
	threads = NULL;
	own = NULL;
	if (fd >= 0)
		close(fd);
}

/* ---- what threads do ------------------------------------------------------------------------------------------------------ */

void compute(long ns)
{
	static volatile unsigned result;
	long before = now_ns();

	while (ns > 0) {
		long now;

		for (unsigned i = 0; i < 200; i++)
			result = result * 1664525 + i;
		now = now_ns();
		if (now - before > JUMP) {
			struct lines *l = of_this_thread();
			const char *cause = l->cause;
			int on = l->on;

			phase_at("cpu-contention", 0, before);
			phase_at(cause, on, now);
		} else {
			ns -= now - before;
		}
		before = now;
	}
}

void sleep_for(long ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	nanosleep(&t, NULL);
}

/* ---- the device ------------------------------------------------------------------------------------------------------------ */

CUfunction kernel_of(CUmodule module, const char *what, long us)
{
	CUfunction kernel;
	char name[96];

	snprintf(name, sizeof(name), "%s__%ldus", what, us);
	CHECK(cuModuleGetFunction(&kernel, module, name));
	return kernel;
}

void launch(CUfunction kernel, CUstream stream)
{
	CHECK(cuLaunchKernel(kernel, 64, 1, 1, 128, 1, 1, 0, stream, NULL, NULL));
}
