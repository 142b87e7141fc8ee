/* SPDX-License-Identifier: BSD-2-Clause */
/* log.h: the stand-in's own log of the truth (NCCL_STANDIN_LOG, %p is the pid): one JSON object a line, written when a call returns, in
 * one write, so that SIGKILL breaks no line. README.md has the fields. */
#pragma once

#include "standin.h"

/* A public call, from its entry on. What does not apply stays as log_begin left it. */
struct log_call {
	const char *name;
	uint64_t begin_ns;
	bool inner; /* the library called itself */
	struct group_place group;
	const struct ncclComm *comm;
	uint64_t hash; /* of comm, at entry */
	int rank, nranks;
	bool moves; /* data: the next ones apply */
	long long sequence;
	size_t count;
	int type, op, peer; /* peer: or the root */
	CUstream stream;
};

struct log_call log_begin(const char *name, const struct ncclComm *comm);
ncclResult_t log_end(struct log_call *call, ncclResult_t result);
void log_kernel(const struct plan *plan, const char *name, CUstream stream);
