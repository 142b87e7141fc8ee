/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks_linked: data-parallel training, two ranks, each a process with a device of its own; the first process starts them, as a launcher
 * does. Gradients are summed with NCCL. Batches come through a pipe from a data service of another user (started before, and not watched).
 *
 * A step: the batch; forward and backward, two buckets of gradients; the optimizer. Every few steps the group of ranks is made anew, as
 * elastic training does when it looks for more: rank 0 tells the new id through a socket, and both join. The ranks measure alike, rank 1
 * augments its data itself and comes late for it; rank 0 writes metrics and the checkpoints, and rank 1 meets it at the next sum.
 *
 *   input-wait       in read of the pipe, until the batch is whole. Probes that see all of the machine may find the service there: asleep, or
 *                    writing while this thread copies; that may be said too
 *   comm-host        in ncclCommInitRank, ncclCommDestroy, until all have come; before that in the socket, until the other rank has told the
 *                    id, which CAUSES.md may be read to be input-network where nothing says that it belongs to a communicator
 *   host-compute     rank 1's augmentation (in its loader: input-preprocess as well), rank 0's metrics; cpu-contention where the clock jumps
 *   launch-bound     the optimizer: kernels of 1 us, one for each parameter
 *   sync-bubble      the loss, read back each step
 *   output-io        rank 0's metrics, to a pipe whose reader is slow
 *   checkpoint       rank 0: write and fsync, after the copy to the host
 *
 * A sum that waits for the other rank is a kernel that runs: exposed communication, and no idle time. */
#include "truth.h"

#include "shim/nccl_api.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define RANKS 2
#define BATCH_MAX (1 << 20)
#define GRADIENTS (256 << 10)
#define METRICS 5000

#define OK(call) REQUIRE((call) == ncclSuccess)

static int rank, store;            /* the socket to the other rank */
static int other, service, reader; /* threads that this one waits for */
static int batches = -1, metrics = -1;
static long n_steps, batch_bytes, parameters, join_every, checkpoint_every, weight_bytes;
static CUstream stream, reduce_stream;
static CUevent computed, reduced;
static CUfunction forward, backward, update, gather;
static CUdeviceptr batch_there, gradients, weights;
static char *batch, *weights_here;
static ncclComm_t comm;
static unsigned long checksum;

/* ---- ranks meet --------------------------------------------------------------------------------------------------------------- */

static void read_all(int fd, void *to, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = read(fd, (char *)to + done, size - done);

		REQUIRE(n > 0);
		done += (size_t)n;
	}
}

static void join(void)
{
	ncclUniqueId id;

	if (rank == 0) {
		phase_waits("comm-host", other);
		OK(ncclGetUniqueId(&id));
		REQUIRE(send(store, &id, sizeof(id), MSG_NOSIGNAL) == sizeof(id));
	} else {
		phase_waits("comm-host|input-network", other);
		read_all(store, &id, sizeof(id));
		phase_waits("comm-host", other);
	}
	OK(ncclCommInitRank(&comm, RANKS, id, rank));
}

static void join_anew(long late)
{
	if (late) {
		phase("host-compute");
		compute(late);
	}
	phase_waits("comm-host", other);
	OK(ncclCommDestroy(comm));
	join();
}

/* ---- a step -------------------------------------------------------------------------------------------------------------------- */

static void next_batch(void)
{
	phase_waits("input-wait|host-sleep|host-compute|input-preprocess", service);
	read_all(batches, batch, (size_t)batch_bytes);
}

static void sum(size_t from)
{
	CHECK(cuEventRecord(computed, stream));
	CHECK(cuStreamWaitEvent(reduce_stream, computed, 0));
	OK(ncclAllReduce((void *)(gradients + from), (void *)(gradients + from), GRADIENTS / 2 / sizeof(float),
			 ncclFloat32, ncclSum, comm, reduce_stream));
	CHECK(cuEventRecord(reduced, reduce_stream));
}

static void train(void)
{
	float loss;

	phase("launch-bound");
	CHECK(cuMemcpyHtoDAsync(batch_there, batch, (size_t)batch_bytes, stream));
	launch(forward, stream);
	launch(backward, stream);
	sum(0);
	launch(backward, stream);
	sum(GRADIENTS / 2);
	CHECK(cuStreamWaitEvent(stream, reduced, 0));
	launch(gather, stream);
	phase("sync-bubble");
	CHECK(cuStreamSynchronize(stream));
	phase("launch-bound");
	for (long i = 0; i < parameters; i++)
		launch(update, stream);
	phase("sync-bubble");
	CHECK(cuMemcpyDtoHAsync(&loss, batch_there, sizeof(loss), stream));
	CHECK(cuStreamSynchronize(stream));
	checksum = checksum * 31 + (unsigned char)batch[0];
}

static void report_metrics(long step)
{
	static char text[METRICS + 64];
	int n = snprintf(text, sizeof(text), "step %ld checksum %lu ", step, checksum);

	phase_waits("output-io", reader);
	memset(text + n, '.', METRICS);
	text[n + METRICS] = '\n';
	REQUIRE(write(metrics, text, (size_t)n + METRICS + 1) == n + METRICS + 1);
}

static void save(void)
{
	int fd;

	phase("sync-bubble|checkpoint");
	CHECK(cuMemcpyDtoH(weights_here, weights, (size_t)weight_bytes));
	phase("checkpoint");
	fd = open("weights.bin", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	REQUIRE(fd >= 0);
	REQUIRE(write(fd, weights_here, (size_t)weight_bytes) == weight_bytes);
	REQUIRE(fsync(fd) == 0);
	close(fd);
}

static void loop(void)
{
	for (long step = 0; step < n_steps; step++) {
		long augment = draw_ns(MS / 10, 20 * MS), measure = draw_ns(MS / 10, 5 * MS),
		     late = draw_ns(MS, 40 * MS), who = draw_int(0, 1);

		next_batch();
		if (rank == 1 && step % 3 == 1) {
			phase("host-compute|input-preprocess");
			compute(augment);
		}
		train();
		if (step % 4 == 2) {
			phase("host-compute");
			compute(measure);
		}
		if (rank == 0 && step % 2 == 0)
			report_metrics(step);
		if (rank == 0 && step % checkpoint_every == checkpoint_every - 1)
			save();
		if (step % join_every == join_every - 1)
			join_anew(who == rank ? late : 0);
	}
	phase(NULL);
}

/* ---- a rank --------------------------------------------------------------------------------------------------------------------- */

static void open_device(void)
{
	CUcontext context;
	CUmodule module;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, rank));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, "model"));
	forward = kernel_of(module, "forward", draw_int(100, 2000));
	backward = kernel_of(module, "backward", draw_int(100, 2000));
	gather = kernel_of(module, "gather", 50);
	update = kernel_of(module, "adam", 1);
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreate(&reduce_stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuEventCreate(&computed, CU_EVENT_DISABLE_TIMING));
	CHECK(cuEventCreate(&reduced, CU_EVENT_DISABLE_TIMING));
	CHECK(cuMemAlloc(&batch_there, BATCH_MAX));
	CHECK(cuMemAlloc(&gradients, GRADIENTS));
	CHECK(cuMemAlloc(&weights, (size_t)weight_bytes));
	REQUIRE((batch = malloc(BATCH_MAX)) && (weights_here = malloc((size_t)weight_bytes)));
}

static void run_rank(int number, int socket_)
{
	int self = getpid();
	char name[32];
	long begin;

	rank = number;
	store = socket_;
	REQUIRE(send(store, &self, sizeof(self), MSG_NOSIGNAL) == sizeof(self));
	read_all(store, &other, sizeof(other));
	service = companion(rank ? "FURTHER_SERVICE_1" : "FURTHER_SERVICE_0");
	reader = companion("FURTHER_READER");
	snprintf(name, sizeof(name), "batches-%d", rank);
	REQUIRE((batches = open(name, O_RDONLY | O_CLOEXEC)) >= 0);
	if (rank == 0)
		metrics = log_open();
	open_device();
	join();
	next_batch();
	train();
	phase(NULL);
	begin = now_ns();
	loop();
	span("thread", "loop", rank, begin, now_ns());
	OK(ncclCommDestroy(comm));
	dprintf(STDOUT_FILENO, "rank %d: %ld steps, checksum %lu\n", rank, n_steps, checksum);
	CHECK(cuDevicePrimaryCtxRelease(rank));
	truth_close();
	exit(0);
}

/* Over the machine's own network, as between two machines. */
static void connect_ranks(int *ends)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	REQUIRE(listening >= 0 && bind(listening, (struct sockaddr *)&address, size) == 0 && listen(listening, 1) == 0);
	REQUIRE(getsockname(listening, (struct sockaddr *)&address, &size) == 0);
	ends[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	REQUIRE(ends[1] >= 0 && connect(ends[1], (struct sockaddr *)&address, size) == 0);
	ends[0] = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	REQUIRE(ends[0] >= 0);
	close(listening);
}

int main(void)
{
	int ends[RANKS], status, failed = 0;

	seed_open(5);
	n_steps = draw_int(40, 60);
	batch_bytes = draw_int(64, 1024) << 10;
	parameters = draw_int(30, 600);
	join_every = draw_int(8, 15);
	checkpoint_every = draw_int(9, 20);
	weight_bytes = draw_int(1, 12) << 20;
	connect_ranks(ends);
	for (int i = 0; i < RANKS; i++) {
		pid_t pid = fork();

		REQUIRE(pid >= 0);
		if (pid == 0)
			run_rank(i, ends[i]);
	}
	while (wait(&status) > 0)
		failed |= status != 0;
	return failed;
}
