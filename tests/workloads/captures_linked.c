/* SPDX-License-Identifier: BSD-2-Clause */
/* captures_linked CASE: graphs that are captured, and captures that end in every way. */
#include "graphs.h"

#include <pthread.h>
#include <stdbool.h>

static void *train(void *stop)
{
	CUstream s;

	cuCtxSetCurrent(context);
	s = stream_new();
	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
		launch(s, "training__50us");
		cuStreamSynchronize(s);
		usleep(300);
	}
	return NULL;
}

/* A fork and a join, slowly, so that a recorder's own thread has every occasion to disturb. */
static CUgraph capture(CUstream s, CUstream side, CUstreamCaptureMode mode)
{
	CUevent fork, join;
	CUgraph g = NULL;

	DO(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	DO(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
	DO(cuStreamBeginCapture(s, mode));
	launch(s, "captured__100us");
	DO(cuEventRecord(fork, s));
	DO(cuStreamWaitEvent(side, fork, 0));
	launch(side, "aside__200us");
	usleep(PAUSE_US);
	DO(cuMemcpyHtoDAsync(device_memory, host_memory, BUFFER_BYTES, s));
	DO(cuMemsetD8Async(device_memory, 1, 4096, s));
	usleep(PAUSE_US);
	DO(cuEventRecord(join, side));
	DO(cuStreamWaitEvent(s, join, 0));
	launch(s, "joined__100us");
	DO(cuStreamEndCapture(s, &g));
	DO(cuEventDestroy(fork));
	DO(cuEventDestroy(join));
	return g;
}

/* alone: no other thread works meanwhile, whose calls a capture in mode `global` would forbid. */
static void captured(CUstreamCaptureMode mode, bool alone)
{
	CUstream s = stream_new(), side = stream_new();
	pthread_t thread;
	int stop = 0;
	CUgraph g;

	launch(s, "warm__300us"); /* unmarked work, in both */
	launch(side, "warm__300us");
	if (!alone && pthread_create(&thread, NULL, train, &stop) != 0)
		exit(3);
	g = capture(s, side, mode);
	if (!alone) {
		__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
	}
	show("captured", g);
	if (g)
		run(instantiate(g), s, 5);
	launch(side, "free__100us");
	DO(cuStreamSynchronize(side));
}

static void global(void)
{
	captured(CU_STREAM_CAPTURE_MODE_GLOBAL, true);
}

static void thread_local_mode(void)
{
	captured(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, false);
}

static void relaxed(void)
{
	captured(CU_STREAM_CAPTURE_MODE_RELAXED, false);
}

static void to_graph(void)
{
	CUstream s = stream_new();
	CUgraph g = graph_new(), same = NULL;
	CUgraphNode root = add_kernel(g, "root__100us", NULL, 0);

	DO(cuStreamBeginCaptureToGraph(s, g, &root, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch(s, "appended__100us");
	usleep(PAUSE_US);
	launch(s, "appended__100us");
	DO(cuStreamEndCapture(s, &same));
	printf("same graph: %d\n", same == g);
	show("appended", g);
	run(instantiate(g), s, 5);
}

/* Ends that end nothing, while a capture is open in another stream. */
static void wrong_ends(void)
{
	CUstream s = stream_new(), other = stream_new();
	CUgraph g = NULL;

	launch(other, "warm__100us");
	DO(cuStreamSynchronize(other));
	DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	launch(s, "one__100us");
	DO(cuStreamEndCapture(other, &g));
	DO(cuStreamEndCapture(other, &g));
	for (int i = 0; i < 5; i++) { /* as long as the capture is open, nothing may be added to it */
		launch(s, "more__100us");
		launch(other, "meanwhile__100us");
		usleep(PAUSE_US);
		DO(cuStreamSynchronize(other));
	}
	DO(cuStreamEndCapture(s, &g));
	show("one graph", g);
}

static void work_after(const char *what)
{
	CUstream s = stream_new();

	puts(what);
	for (int i = 0; i < 5; i++) {
		launch(s, "after__200us");
		DO(cuStreamSynchronize(s));
		usleep(PAUSE_US);
	}
}

static void invalidated(void)
{
	CUstream s = stream_new();
	CUgraph g = NULL;

	DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch(s, "lost__100us");
	DO(cuStreamSynchronize(s)); /* not allowed: the capture is broken */
	launch(s, "lost__100us");
	DO(cuStreamEndCapture(s, &g));
	show("broken", g);
	work_after("invalidated");
}

static void unjoined(void)
{
	CUstream s = stream_new(), side = stream_new();
	CUgraph g = NULL;
	CUevent fork;

	DO(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	DO(cuEventRecord(fork, s));
	DO(cuStreamWaitEvent(side, fork, 0));
	launch(side, "lost__100us");
	DO(cuStreamEndCapture(side, &g)); /* it began in the other */
	DO(cuStreamEndCapture(s, &g));
	show("unjoined", g);
	work_after("unjoined");
}

static void stream_gone(void)
{
	CUstream s = stream_new();

	DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	launch(s, "lost__100us");
	DO(cuStreamDestroy(s));
	work_after("stream gone");
}

static void context_gone(void)
{
	CUcontext own;
	CUstream s;

	DO(cuCtxCreate(&own, NULL, 0, 0));
	s = stream_new();
	DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	DO(cuCtxDestroy(own));
	DO(cuCtxSetCurrent(context));
	work_after("context gone");
}

static const struct graph_case cases[] = {
	{ "global", global },     { "thread-local", thread_local_mode }, { "relaxed", relaxed },
	{ "to-graph", to_graph }, { "wrong-ends", wrong_ends },          { "invalidated", invalidated },
	{ "unjoined", unjoined }, { "stream-gone", stream_gone },        { "context-gone", context_gone },
};

int main(int argc, char **argv)
{
	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
