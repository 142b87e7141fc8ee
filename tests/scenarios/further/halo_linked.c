/* SPDX-License-Identifier: BSD-2-Clause */
/* halo_linked: a simulation on two devices, of which the first has the larger part of the grid. One thread.
 *
 * A block of time steps: some steps ahead without waiting, whose borders go over by peer copies and events; a solver that asks for its
 * residual in each iteration; boundary values that a function of the host computes, between two kernels; a graph of many small kernels;
 * now and then the grid is refined on the host, the end of a kernel is polled for, a snapshot is written.
 *
 *   device-dependency  the second device has its next step queued behind an event of the first, whose kernel takes longer: from the end of
 *                      the first step's submission on, for from then on the next step always is in the queue. Both wait for the host
 *                      function, from the submission's end on, also until the driver's thread has come to run it: the first one's next
 *                      kernel is behind it in the stream, the second one's behind that
 *   device-latency     between a graph's kernels, which follow each other
 *   sync-bubble        iterations of some us each, read back by a blocking copy; the smaller device waits at a block's end for the host
 *   launch-bound       smoothing sweeps of 2 us, launched one by one, each as long as the launch takes
 *   host-compute       the grid's refinement, by a thread that reads the clock all the while: where it jumps the thread had no CPU
 *   host-sleep         the poll's sleep, that ends some time after the kernel does
 *   checkpoint         write and fsync of the snapshot, after copies to the host (which keep one device busy, and leave the other idle)
 *
 * A device's own spans say what a gap waits for only from the moment on when the op at its end had been submitted. */
#include "truth.h"

#include <fcntl.h>
#include <string.h>

#define DEVICES 2
#define HALO (256u << 10)
#define NODES 20

struct place {
	CUcontext context;
	CUstream stream, halo;
	CUevent stepped, crossed;
	CUfunction interior, border, boundary, dot, sweep, node, slow;
	CUdeviceptr grid, residual;
	CUgraphExec graph;
};

static struct place places[DEVICES];
static long blocks, grid_bytes, poll_ns;
static char *snapshot;
static long function_ns;
static unsigned long steps, residuals;

static void use(int d)
{
	CHECK(cuCtxSetCurrent(places[d].context));
}

static void open_graph(struct place *p)
{
	CUgraph graph;

	CHECK(cuStreamBeginCapture(p->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	for (int i = 0; i < NODES; i++)
		launch(p->node, p->stream);
	CHECK(cuStreamEndCapture(p->stream, &graph));
	CHECK(cuGraphInstantiate(&p->graph, graph, 0));
	CHECK(cuGraphDestroy(graph));
}

static void open_place(int d, long long_us, long short_us)
{
	struct place *p = &places[d];
	CUmodule module;

	CHECK(cuDevicePrimaryCtxRetain(&p->context, d));
	use(d);
	CHECK(cuModuleLoadData(&module, "halo"));
	p->interior = kernel_of(module, "interior", d ? short_us : long_us);
	p->border = kernel_of(module, "border", d ? 10 : 20);
	p->boundary = kernel_of(module, "boundary", 100);
	p->dot = kernel_of(module, "dot", 8);
	p->sweep = kernel_of(module, "sweep", 1);
	p->node = kernel_of(module, "multigrid", 5);
	p->slow = kernel_of(module, "pressure", 700);
	CHECK(cuStreamCreate(&p->stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreate(&p->halo, CU_STREAM_NON_BLOCKING));
	CHECK(cuEventCreate(&p->stepped, CU_EVENT_DISABLE_TIMING));
	CHECK(cuEventCreate(&p->crossed, CU_EVENT_DISABLE_TIMING));
	CHECK(cuMemAlloc(&p->grid, (size_t)grid_bytes));
	CHECK(cuMemAlloc(&p->residual, 4096));
	open_graph(p);
}

/* ---- a block's parts ----------------------------------------------------------------------------------------------------- */

/* The smaller device's border goes first, so that the larger never waits. */
static void one_step(void)
{
	struct place *large = &places[0], *small = &places[1];

	use(0);
	launch(large->interior, large->stream);
	launch(large->border, large->stream);
	CHECK(cuEventRecord(large->stepped, large->stream));
	CHECK(cuStreamWaitEvent(large->halo, large->stepped, 0));
	CHECK(cuMemcpyPeerAsync(small->grid, small->context, large->grid, large->context, HALO, large->halo));
	CHECK(cuEventRecord(large->crossed, large->halo));
	use(1);
	launch(small->interior, small->stream);
	CHECK(cuStreamWaitEvent(small->stream, large->crossed, 0));
	launch(small->border, small->stream);
	steps++;
}

static void steps_ahead(long n)
{
	long queued;

	phase("launch-bound");
	one_step();
	queued = now_ns();
	for (long i = 1; i < n; i++)
		one_step();
	phase("sync-bubble");
	use(1);
	CHECK(cuStreamSynchronize(places[1].stream));
	span("device", "device-dependency", 1, queued, now_ns());
	use(0);
	CHECK(cuStreamSynchronize(places[0].stream));
	CHECK(cuStreamSynchronize(places[0].halo));
}

/* Conjugate gradients: the host decides after each product. */
static void solve(long iterations)
{
	double values[8];

	phase("sync-bubble");
	for (long i = 0; i < iterations; i++) {
		for (int d = 0; d < DEVICES; d++) {
			use(d);
			launch(places[d].dot, places[d].stream);
		}
		for (int d = 0; d < DEVICES; d++) {
			use(d);
			CHECK(cuMemcpyDtoHAsync(values, places[d].residual, sizeof(values), places[d].stream));
			CHECK(cuStreamSynchronize(places[d].stream));
		}
		residuals++;
	}
}

static void smooth(long sweeps)
{
	phase("launch-bound");
	for (long i = 0; i < sweeps; i++)
		for (int d = 0; d < DEVICES; d++) {
			use(d);
			launch(places[d].sweep, places[d].stream);
		}
	phase("sync-bubble");
	for (int d = 0; d < DEVICES; d++) {
		use(d);
		CHECK(cuStreamSynchronize(places[d].stream));
	}
}

/* By a thread of the driver's. */
static void CUDA_CB boundary_values(void *unused)
{
	(void)unused;
	truth_thread("function");
	phase("device-dependency");
	compute(function_ns);
	phase(NULL);
}

static void boundaries(long ns)
{
	struct place *large = &places[0], *small = &places[1];
	long queued;

	function_ns = ns;
	phase("launch-bound");
	use(0);
	launch(large->boundary, large->stream);
	CHECK(cuLaunchHostFunc(large->stream, boundary_values, NULL));
	launch(large->boundary, large->stream);
	CHECK(cuEventRecord(large->stepped, large->stream));
	use(1);
	launch(small->boundary, small->stream);
	CHECK(cuStreamWaitEvent(small->stream, large->stepped, 0));
	launch(small->boundary, small->stream);
	queued = now_ns();
	phase("sync-bubble");
	CHECK(cuStreamSynchronize(small->stream));
	for (int d = 0; d < DEVICES; d++)
		span("device", "device-dependency", d, queued, now_ns());
}

static void multigrid(long cycles)
{
	long queued = 0;

	phase("launch-bound");
	for (long i = 0; i < cycles; i++)
		for (int d = 0; d < DEVICES; d++) {
			use(d);
			CHECK(cuGraphLaunch(places[d].graph, places[d].stream));
			queued = queued ? queued : now_ns();
		}
	phase("sync-bubble");
	for (int d = 0; d < DEVICES; d++) {
		use(d);
		CHECK(cuStreamSynchronize(places[d].stream));
		span("device", "device-latency", d, queued, now_ns());
	}
}

/* Not to burn a CPU while it waits. */
static void poll_for_it(void)
{
	phase("launch-bound");
	for (int d = 0; d < DEVICES; d++) {
		use(d);
		launch(places[d].slow, places[d].stream);
	}
	phase("host-sleep");
	for (int d = 0; d < DEVICES; d++) {
		use(d);
		while (cuStreamQuery(places[d].stream) == CUDA_ERROR_NOT_READY)
			sleep_for(poll_ns);
	}
}

static void refine(long ns)
{
	phase("host-compute");
	compute(ns);
}

static void write_snapshot(void)
{
	int fd;

	phase("sync-bubble|checkpoint");
	for (int d = 0; d < DEVICES; d++) {
		use(d);
		CHECK(cuMemcpyDtoH(snapshot, places[d].grid, (size_t)grid_bytes));
	}
	phase("checkpoint");
	fd = open("snapshot.bin", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	REQUIRE(fd >= 0);
	REQUIRE(write(fd, snapshot, (size_t)grid_bytes) == grid_bytes);
	REQUIRE(fsync(fd) == 0);
	close(fd);
}

static void block(long b)
{
	steps_ahead(draw_int(3, 10));
	if (b % 3 == 1)
		refine(draw_ns(MS / 10, 30 * MS));
	solve(draw_int(5, 60));
	if (b % 4 == 2)
		poll_for_it();
	boundaries(draw_ns(MS / 10, 20 * MS));
	smooth(draw_int(20, 400));
	if (b % 6 == 3)
		write_snapshot();
	multigrid(draw_int(2, 30));
	phase(NULL);
}

int main(void)
{
	long begin, long_us, short_us;

	seed_open(3);
	blocks = draw_int(18, 30);
	grid_bytes = draw_int(1, 12) << 20;
	poll_ns = draw_ns(MS / 5, 20 * MS);
	long_us = draw_int(300, 4000);
	short_us = long_us / draw_int(2, 6);
	REQUIRE((snapshot = malloc((size_t)grid_bytes)) != NULL);
	memset(snapshot, 1, (size_t)grid_bytes);
	CHECK(cuInit(0));
	for (int d = 0; d < DEVICES; d++)
		open_place(d, long_us, short_us);
	solve(1);
	phase(NULL);
	begin = now_ns();
	for (long b = 0; b < blocks; b++)
		block(b);
	span("thread", "loop", -1, begin, now_ns());
	printf("%ld blocks, %lu steps, %lu residuals\n", blocks, steps, residuals);
	for (int d = 0; d < DEVICES; d++)
		CHECK(cuDevicePrimaryCtxRelease(d));
	unlink("snapshot.bin");
	truth_close();
	return 0;
}
