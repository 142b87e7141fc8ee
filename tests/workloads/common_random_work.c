/* SPDX-License-Identifier: BSD-2-Clause */
#include "common_random_work.h"

#include "common_random_acts.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct options {
	uint64_t seed;
	unsigned actions, threads;
	bool endless;
	const char *calls;
} options = { .seed = 1, .actions = 500, .threads = 1 };

static CUcontext context;

static void *worker_run(void *argument)
{
	struct worker *w = argument;

	w->random = random_from(options.seed * MAX_THREADS + w->index);
	w->pageable = memory(BUFFER_BYTES);
	MUST(CU(cuCtxSetCurrent, context));
	MUST(CU(cuModuleLoadData, &w->module, "an image"));
	for (unsigned i = 0; i < LANES; i++)
		lane_open(w, i);
	for (unsigned i = 0; options.endless || i < options.actions; i++)
		random_act(w);
	random_synchronize_all(w);
	for (unsigned i = 0; i < LANES; i++)
		lane_close(&w->lanes[i], i > 0);
	MUST(CU(cuModuleUnload, w->module));
	free(w->pageable);
	return NULL;
}

/* ---- the program ----------------------------------------------------------------------------------------- */

static int usage(const char *program)
{
	fprintf(stderr,
		"%s [--seed N] [--actions N] [--threads N] [--endless] [--counter FILE] [--calls FILE] [--names]\n",
		program);
	return 2;
}

static bool parse(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!strcmp(name, "--endless")) {
			options.endless = true;
			continue;
		}
		if (!value)
			return false;
		i++;
		if (!strcmp(name, "--seed"))
			options.seed = strtoull(value, NULL, 10);
		else if (!strcmp(name, "--actions"))
			options.actions = (unsigned)atoi(value);
		else if (!strcmp(name, "--threads"))
			options.threads = (unsigned)atoi(value);
		else if (!strcmp(name, "--counter"))
			calls_count_in(value);
		else if (!strcmp(name, "--calls"))
			options.calls = value;
		else
			return false;
	}
	return options.threads > 0 && options.threads <= MAX_THREADS;
}

int random_work_main(int argc, char **argv)
{
	static struct worker workers[MAX_THREADS];
	pthread_t threads[MAX_THREADS];
	uint64_t checksum = 0;
	CUdevice device;

	if (argc == 2 && !strcmp(argv[1], "--names")) {
		calls_print_names();
		return 0;
	}
	if (!parse(argc, argv))
		return usage(argv[0]);
	if (options.calls)
		calls_keep();
	MUST(CU(cuInit, 0));
	MUST(CU(cuDeviceGet, &device, 0));
	MUST(CU(cuDevicePrimaryCtxRetain, &context, device));
	for (unsigned i = 1; i < options.threads; i++) {
		workers[i].index = i;
		if (pthread_create(&threads[i], NULL, worker_run, &workers[i]))
			abort();
	}
	worker_run(&workers[0]);
	for (unsigned i = 1; i < options.threads; i++)
		pthread_join(threads[i], NULL);
	MUST(CU(cuDevicePrimaryCtxRelease_v2, device));
	for (unsigned i = 0; i < options.threads; i++)
		checksum = random_hash(checksum, (uint8_t *)&workers[i].checksum, sizeof(checksum));
	printf("checksum %016llx\n", (unsigned long long)checksum);
	if (options.calls)
		calls_write(options.calls);
	return 0;
}
