/* SPDX-License-Identifier: BSD-2-Clause */
/* import_nsys_ranks.c: which rank a process is, by the trace's own word: MPI's, else the environment's. */
#include <ctype.h>
#include <string.h>

#include "import_nsys_parts.h"

#define RANK_MOST (1 << 24)

static bool is_separator(char c)
{
	return c == ';' || c == '\0' || c == '\n';
}

/* The number that the environment gives the variable ("NAME="); -1 none. */
static int64_t variable(struct import_text environment, const char *name)
{
	for (size_t i = 0; i < environment.bytes; i++) {
		struct import_text rest = { environment.at + i, environment.bytes - i };
		int64_t value = 0;
		size_t k = strlen(name);

		if ((i && !is_separator(environment.at[i - 1])) || !nsys_begins(rest, name))
			continue;
		while (k < rest.bytes && isdigit((unsigned char)rest.at[k]) && value < RANK_MOST)
			value = value * 10 + (rest.at[k++] - '0');
		return k > strlen(name) && (k == rest.bytes || is_separator(rest.at[k])) ? value : -1;
	}
	return -1;
}

/* Of the only process there is: where each rank had an Nsight of its own, that had the rank's environment. */
static void rank_of_environment(struct nsys *n, uint32_t process, struct import_text environment)
{
	static const char *const variables[][2] = {
		{ "RANK=", "WORLD_SIZE=" },
		{ "OMPI_COMM_WORLD_RANK=", "OMPI_COMM_WORLD_SIZE=" },
		{ "PMI_RANK=", "PMI_SIZE=" },
		{ "SLURM_PROCID=", "SLURM_NTASKS=" },
	};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		int64_t rank = variable(environment, variables[i][0]), ranks = variable(environment, variables[i][1]);

		if (rank >= 0 && rank < ranks) {
			if (ranks > 1)
				import_rank(n->b, process, (uint32_t)rank, (uint32_t)ranks);
			return;
		}
	}
}

/* The largest communicator's size; 0 not said. */
static uint32_t mpi_size(struct nsys *n)
{
	struct nsys_rows r;
	int64_t most = 0;

	if (!nsys_rows_begin(&r, &n->file, NSYS_MPI_COMM))
		return 0;
	while (nsys_next(n, &r)) {
		int64_t size = nsys_rows_int(&r, MPI_COMM_size, 0);

		most = size > most && size <= RANK_MOST ? size : most;
	}
	nsys_rows_close(&r);
	return (uint32_t)most;
}

static bool mpi_ranks(struct nsys *n)
{
	uint32_t ranks = mpi_size(n);
	struct nsys_rows r;
	bool said = false;

	if (!nsys_rows_begin(&r, &n->file, NSYS_MPI_RANK))
		return false;
	while (nsys_next(n, &r)) {
		struct nsys_process *p = nsys_process(n, nsys_row_pid(n, &r, MPI_RANK_globalTid), false);
		int64_t rank = nsys_rows_int(&r, MPI_RANK_rank, -1);

		if (!p || rank < 0 || rank >= ranks)
			continue;
		import_rank(n->b, p->number, (uint32_t)rank, ranks);
		said = true;
	}
	nsys_rows_close(&r);
	return said;
}

void nsys_ranks(struct nsys *n)
{
	struct nsys_process *only = NULL;
	struct nsys_rows r;

	for (size_t i = 0; i < n->n_processes; i++)
		if (n->processes[i].works) {
			if (only) {
				only = NULL;
				break;
			}
			only = &n->processes[i];
		}
	if (mpi_ranks(n) || !only || !nsys_rows_begin(&r, &n->file, NSYS_SYSTEM))
		return;
	while (nsys_next(n, &r))
		if (nsys_is(nsys_rows_text(&r, SYSTEM_name), "DeviceEnvironment"))
			rank_of_environment(n, only->number, nsys_rows_text(&r, SYSTEM_value));
	nsys_rows_close(&r);
}
