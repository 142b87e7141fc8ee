/* SPDX-License-Identifier: BSD-2-Clause */
/* stacks_linked CASE: submits from places that a test knows by the names of the functions around them.
 *
 *   chain             outer, middle, inner
 *   deep N            as deep
 *   signal            a handler with a stack of its own, in the middle of `interrupted`
 *   threads           four at once, each in a function of its own
 *   library FILE      through a library that is loaded for it
 *   crowd FOLDER N    through the last of N libraries 0.so, 1.so, …
 *   replaced FILE COPY NAME  through FILE's; it is unloaded, and COPY takes its NAME and then its place
 *   reloaded FILE COPY NAME N  N times one of them takes NAME, is loaded, submitted through and unloaded, while two threads submit
 *   listed            while another thread, in the middle of the loader's list, waits for a lock that is held around the submissions
 *   forks N           N children that ask the loader for its list, while a thread submits, and sleeps, and submits
 *   silence           sleeps in one function, computes in another, between two submissions */
#include <cuda.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_time.h"

#define FUNCTION __attribute__((noinline, noclone))
#define BEHIND __asm__ volatile("" : : : "memory")

static CUcontext context;
static CUmodule module;
static CUfunction kernel;

FUNCTION static void submit(void)
{
	CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	BEHIND;
}

static void begin(void)
{
	CUdevice device;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, "any"));
	CHECK(cuModuleGetFunction(&kernel, module, "work__20us"));
}

FUNCTION static void inner(void)
{
	submit();
	BEHIND;
}

FUNCTION static void middle(void)
{
	inner();
	BEHIND;
}

FUNCTION static void outer(void)
{
	middle();
	BEHIND;
}

FUNCTION static void deeper(int n)
{
	if (n)
		deeper(n - 1);
	else
		submit();
	BEHIND;
}

static void handler(int signal)
{
	(void)signal;
	submit();
	BEHIND;
}

FUNCTION static void interrupted(void)
{
#if defined(__x86_64__)
	__asm__ volatile("int3");
#else
	raise(SIGTRAP);
#endif
	BEHIND;
}

FUNCTION static void on_signal(void)
{
	static char stack[1 << 16];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	sigaltstack(&other, NULL);
	sigaction(SIGTRAP, &action, NULL);
	interrupted();
	BEHIND;
}

/* One stack is taken at a time: who comes at the same moment is told of the next time. */
#define OFTEN 20

#define THREAD(name)                              \
	FUNCTION static void *name(void *arg)     \
	{                                         \
		CHECK(cuCtxSetCurrent(context));  \
		pthread_barrier_wait(arg);        \
		for (int i = 0; i < OFTEN; i++) { \
			submit();                 \
			usleep(1000);             \
		}                                 \
		BEHIND;                           \
		return NULL;                      \
	}
THREAD(thread_north)
THREAD(thread_east)
THREAD(thread_south)
THREAD(thread_west)

static void on_threads(void)
{
	void *(*const work[])(void *) = { thread_north, thread_east, thread_south, thread_west };
	pthread_barrier_t barrier;
	pthread_t threads[4];

	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work[i], &barrier);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void *load(const char *file)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return library;
}

FUNCTION static void *through(void *library)
{
	void (*call)(void (*)(void));

	*(void **)&call = dlsym(library, "plugin_outer");
	call(submit);
	BEHIND;
	return *(void **)&call;
}

FUNCTION static void on_crowd(const char *folder, int n)
{
	char file[4096];
	void *last = NULL;

	for (int i = 0; i < n; i++) {
		snprintf(file, sizeof(file), "%s/%d.so", folder, i);
		last = load(file);
	}
	through(last);
}

/* The loader takes the first place that is large enough: that of the one before. */
static void on_replaced(const char *first, const char *second, const char *name)
{
	void *library, *was, *is;

	if (rename(first, name))
		exit(1);
	library = load(name);
	was = through(library);
	dlclose(library);
	if (rename(second, name))
		exit(1);
	library = load(name);
	CHECK(cuModuleGetFunction(&kernel, module, "other__20us")); /* from the same place, but of another kernel */
	is = through(library);
	printf("%d\n", was == is);
}

static bool reloaded_enough;

FUNCTION static void *submits_deep(void *arg)
{
	CHECK(cuCtxSetCurrent(context));
	for (int n = 0; !__atomic_load_n(&reloaded_enough, __ATOMIC_RELAXED); n = (n + 1) % 20) {
		usleep(150);
		deeper(n);
	}
	BEHIND;
	return arg;
}

#define RELOAD(name)                                   \
	FUNCTION static void name(const char *library) \
	{                                              \
		void *loaded = load(library);          \
                                                       \
		usleep(150);                           \
		through(loaded);                       \
		dlclose(loaded);                       \
		BEHIND;                                \
	}
RELOAD(by_the_first)
RELOAD(by_the_second)

static void on_reloaded(const char *first, const char *second, const char *name, int n)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, submits_deep, NULL);
	for (int i = 0; i < n; i++) {
		if (link(i % 2 ? second : first, name) != 0)
			exit(1);
		(i % 2 ? by_the_second : by_the_first)(name);
		unlink(name);
	}
	__atomic_store_n(&reloaded_enough, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static bool in_the_list;

static int waits_in_the_list(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size, (void)arg;
	__atomic_store_n(&in_the_list, true, __ATOMIC_RELEASE);
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
	return 1;
}

static void *lists(void *arg)
{
	dl_iterate_phdr(waits_in_the_list, NULL);
	return arg;
}

FUNCTION static void on_listed(void)
{
	pthread_t thread;

	alarm(30);
	submit(); /* what the first submission looks up is */
	pthread_mutex_lock(&held);
	pthread_create(&thread, NULL, lists, NULL);
	while (!__atomic_load_n(&in_the_list, __ATOMIC_ACQUIRE))
		usleep(100);
	outer();
	usleep(1000);
	middle();
	pthread_mutex_unlock(&held);
	pthread_join(thread, NULL);
	BEHIND;
}

FUNCTION static void sleeps(void)
{
	usleep(60000);
	BEHIND;
}

FUNCTION static void computes(void)
{
	compute(60000000);
	BEHIND;
}

FUNCTION static void on_silence(void)
{
	submit();
	sleeps();
	submit();
	computes();
	submit();
	BEHIND;
}

static bool forked_enough;

static void *submits_on(void *arg)
{
	CHECK(cuCtxSetCurrent(context));
	while (!__atomic_load_n(&forked_enough, __ATOMIC_RELAXED)) {
		submit();
		usleep(300);
	}
	return arg;
}

static int next_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size, (void)arg;
	return 0;
}

static void on_forks(int n)
{
	pthread_t threads[2];
	int status;

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, submits_on, NULL);
	for (int i = 0; i < n; i++) {
		pid_t child = fork();

		if (!child) {
			alarm(5);
			dl_iterate_phdr(next_object, NULL);
			_exit(0);
		}
		if (waitpid(child, &status, 0) != child || status)
			exit(4);
	}
	__atomic_store_n(&forked_enough, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	begin();
	if (!strcmp(what, "chain"))
		outer();
	else if (!strcmp(what, "deep") && argc == 3)
		deeper(atoi(argv[2]));
	else if (!strcmp(what, "signal"))
		on_signal();
	else if (!strcmp(what, "threads"))
		on_threads();
	else if (!strcmp(what, "library") && argc == 3)
		through(load(argv[2]));
	else if (!strcmp(what, "crowd") && argc == 4)
		on_crowd(argv[2], atoi(argv[3]));
	else if (!strcmp(what, "replaced") && argc == 5)
		on_replaced(argv[2], argv[3], argv[4]);
	else if (!strcmp(what, "reloaded") && argc == 6)
		on_reloaded(argv[2], argv[3], argv[4], atoi(argv[5]));
	else if (!strcmp(what, "listed"))
		on_listed();
	else if (!strcmp(what, "forks") && argc == 3)
		on_forks(atoi(argv[2]));
	else if (!strcmp(what, "silence"))
		on_silence();
	else
		return 2;
	CHECK(cuCtxSynchronize());
	return 0;
}
