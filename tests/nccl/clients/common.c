/* SPDX-License-Identifier: BSD-2-Clause */
#include "client.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 512 };

void nccl_open(struct nccl *nccl, const char *library)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(3);
	}
#define NCCL_CALL(name) *(void **)&nccl->name = dlsym(handle, #name);
#include "nccl_calls.def"
#undef NCCL_CALL
	if (!nccl->ncclAllReduceConfig || !nccl->ncclGroupEnd) {
		fprintf(stderr, "%s lacks calls\n", library);
		exit(3);
	}
}

static void write_id(const char *path, const ncclUniqueId *id)
{
	char half[PATH_BYTES + sizeof(".half")];
	FILE *file;

	snprintf(half, sizeof(half), "%s.half", path);
	file = fopen(half, "w");
	if (!file || fwrite(id, sizeof(*id), 1, file) != 1 || fclose(file) || rename(half, path)) {
		perror(path);
		exit(3);
	}
}

ncclUniqueId exchange_id(struct client *c, const struct nccl *nccl)
{
	char path[PATH_BYTES];
	ncclUniqueId id;
	FILE *file;

	snprintf(path, sizeof(path), "%s.%u", c->id, c->ids++);
	if (c->rank == 0) {
		OK(nccl->ncclGetUniqueId(&id));
		write_id(path, &id);
		return id;
	}
	while (!(file = fopen(path, "r")))
		usleep(1000);
	CHECK(1, fread(&id, sizeof(id), 1, file));
	fclose(file);
	return id;
}

ncclComm_t join(struct client *c, const struct nccl *nccl)
{
	ncclUniqueId id = exchange_id(c, nccl);
	ncclComm_t comm;

	OK(nccl->ncclCommInitRank(&comm, c->ranks, id, c->rank));
	return comm;
}

float *numbers(size_t count)
{
	CUdeviceptr memory;

	CU(cuMemAlloc(&memory, count * sizeof(float)));
	memset((void *)(uintptr_t)memory, 0, count * sizeof(float));
	return (float *)(uintptr_t)memory;
}

CUstream new_stream(void)
{
	CUstream stream;

	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	return stream;
}

void kernel(struct client *c, const char *name, CUstream stream)
{
	CUfunction f;

	CU(cuModuleGetFunction(&f, c->module, name));
	CU(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

void fill(float *to, size_t count, float first, float step)
{
	for (size_t i = 0; i < count; i++)
		to[i] = first + step * (float)i;
}

void show(struct client *c, const char *what, const float *values, size_t count)
{
	printf("rank %d %s:", c->rank, what);
	for (size_t i = 0; i < count; i++)
		printf(" %g", (double)values[i]);
	putchar('\n');
}

static const struct client_case *find(const char *name)
{
	const struct client_case *const lists[] = { cases_data, cases_lives, cases_ranks };

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		for (const struct client_case *one = lists[i]; one->name; one++)
			if (!strcmp(one->name, name))
				return one;
	return NULL;
}

static void read_options(int argc, char **argv, struct client *c)
{
	for (int i = 2; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--rank"))
			c->rank = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--ranks"))
			c->ranks = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--device"))
			c->device = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--steps"))
			c->steps = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--late"))
			c->late = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--how"))
			c->how = argv[i + 1];
		else if (!strcmp(argv[i], "--id"))
			c->id = argv[i + 1];
		else if (!strcmp(argv[i], "--library"))
			c->library = argv[i + 1];
	}
}

int client_main(int argc, char **argv, struct client *c)
{
	const struct client_case *one = argc > 1 ? find(argv[1]) : NULL;

	c->ranks = 1;
	c->device = c->late = -1;
	c->how = "sleep";
	c->steps = 3;
	read_options(argc, argv, c);
	if (!one || !c->id) {
		fprintf(stderr,
			"usage: %s CASE --rank R --ranks N --id FILE [--device D] [--library PATH] [--steps N] "
			"[--late R] [--how sleep|read|compute]\n",
			argv[0]);
		return 2;
	}
	if (c->library) {
		nccl_open(&c->other, c->library);
		c->has_other = true;
	}
	CU(cuInit(0));
	CU(cuDevicePrimaryCtxRetain(&c->context, c->device < 0 ? c->rank : c->device));
	CU(cuCtxSetCurrent(c->context));
	CU(cuModuleLoadData(&c->module, "any image"));
	one->run(c);
	return 0;
}
