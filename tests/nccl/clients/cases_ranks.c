/* SPDX-License-Identifier: BSD-2-Clause */
/* cases_ranks.c: ranks that train together, one of which comes late to each all-reduce: it sleeps, waits for its data, or computes longer. */
#include "client.h"

#include <string.h>
#include <unistd.h>

enum {
	LATE_US = 10000,
	GRADIENTS =
		20000000, /* they take 2.8 ms among eight: time enough for each process to notice that all have come */
	TOUCHED = 262144  /* … of which the stand-in moves 1 MiB */
};

/* A loader, as a process of its own, that takes longer for a batch than a step takes otherwise. It ends with whoever reads. */
static int loader(void)
{
	int ends[2];

	if (pipe(ends)) {
		perror("pipe");
		exit(3);
	}
	if (fork() == 0) {
		close(ends[0]);
		do {
			usleep(2 * LATE_US);
		} while (write(ends[1], "batch", 5) == 5);
		_exit(0);
	}
	close(ends[1]);
	return ends[0];
}

/* What the late rank does before its collective, beyond what the others do. */
static void be_late(struct client *c, CUstream stream, int batches)
{
	char batch[5];

	if (!strcmp(c->how, "compute"))
		kernel(c, "longer__10000us", stream);
	else if (batches >= 0)
		CHECK(sizeof(batch), read(batches, batch, sizeof(batch)));
	else
		usleep(LATE_US);
}

static void late(struct client *c)
{
	bool late = c->rank == c->late;
	int batches = late && !strcmp(c->how, "read") ? loader() : -1;
	ncclComm_t comm = join(c, &c->nccl);
	float *gradients = numbers(TOUCHED);
	CUstream stream = new_stream();

	for (int step = 0; step < c->steps; step++) {
		kernel(c, "forward__200us", stream);
		if (late)
			be_late(c, stream, batches);
		OK(c->nccl.ncclAllReduce(gradients, gradients, GRADIENTS, ncclFloat32, ncclSum, comm, stream));
		CU(cuStreamSynchronize(stream));
	}
	if (batches >= 0)
		close(batches);
	OK(c->nccl.ncclCommDestroy(comm));
}

const struct client_case cases_ranks[] = {
	{ "late", late },
	{ NULL, NULL },
};
