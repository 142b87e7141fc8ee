/* SPDX-License-Identifier: BSD-2-Clause */
/* client.h: what the clients of NCCL share. CASE --rank R --ranks N --id FILE [--device D] [--library PATH] [--steps N]
 * [--late R] [--how sleep|read|compute]: one rank of a case, on the device of its number; the first one writes its unique ids to FILE.0,
 * FILE.1, … What it computes is printed, the same in every run. */
#pragma once

#include "shim/nccl_api.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define NCCL_CALL(name) typeof(name) *name;
struct nccl {
#include "nccl_calls.def"
};
#undef NCCL_CALL

struct client {
	struct nccl nccl, other; /* other: a second copy of the library (--library) */
	bool has_other;
	const char *id, *library, *how; /* how: what makes the late rank late */
	int rank, ranks, steps;
	int device; /* -1: that of its number */
	int late;   /* the number of the late rank, -1 none */
	unsigned ids; /* exchanged so far */
	CUcontext context;
	CUmodule module;
};

struct client_case {
	const char *name;
	void (*run)(struct client *c);
};

void nccl_open(struct nccl *nccl, const char *library); /* by dlopen and dlsym; ends the program if that fails */
int client_main(int argc, char **argv, struct client *c);

/* Ends the program where a call returns anything else. */
#define CHECK(expected, expression)                                                                        \
	do {                                                                                               \
		long long is_ = (long long)(expression), want_ = (long long)(expected);                    \
		if (is_ != want_) {                                                                        \
			fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #expression, is_, want_); \
			exit(1);                                                                           \
		}                                                                                          \
	} while (0)
#define CU(expression) CHECK(CUDA_SUCCESS, expression)
#define OK(expression) CHECK(ncclSuccess, expression)

/* common.c */
ncclUniqueId exchange_id(struct client *c, const struct nccl *nccl); /* of the first rank */
ncclComm_t join(struct client *c, const struct nccl *nccl);          /* all ranks */
float *numbers(size_t count);                                        /* device memory, which the host reaches here */
CUstream new_stream(void);
void kernel(struct client *c, const char *name, CUstream stream);
void fill(float *to, size_t count, float first, float step);
void show(struct client *c, const char *what, const float *values, size_t count);

extern const struct client_case cases_data[], cases_lives[], cases_ranks[]; /* each ends with a NULL name */
