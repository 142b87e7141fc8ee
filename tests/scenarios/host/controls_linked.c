/* SPDX-License-Identifier: BSD-2-Clause */
/* controls_linked NAME STEPS: training loops with which nothing is wrong. A kernel is always queued behind the one that runs, so what the host
 * does meanwhile costs the device nothing.
 *
 *   plain          nothing else
 *   well-fed       a worker process computes each batch, in a third of the step's time, and is two ahead
 *   saved-beside   every eighth step another thread writes and flushes $LAB_SAVE
 *   copied-beside  each step a copy from pinned memory, in a stream of its own
 *   streams        four streams
 *   devices        two devices, eight streams together */
#include "loader.h"

#include <cuda.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/wait.h>

#define CHECK(call) REQUIRE((call) == CUDA_SUCCESS)
#define AHEAD 2
#define COPIED (256u << 10)
#define SAVED (1u << 20)
#define STEP_US 2000

struct control {
	const char *name;
	int streams, devices;
	void (*open)(void);
	void (*beside)(long step); /* while the device is busy */
	void (*close)(void);
};

static struct {
	CUcontext context;
	CUfunction kernel;
	CUstream streams[4];
	CUevent done[AHEAD];
} devices[2];

/* ---- well-fed --------------------------------------------------------------------------------------------------------- */

static int ask[2], answer[2];
static pid_t worker;

static void worker_open(void)
{
	long step;

	REQUIRE(pipe(ask) == 0 && pipe(answer) == 0);
	REQUIRE((worker = fork()) >= 0);
	if (worker == 0) {
		struct span s = span_begin("host-compute", "worker", 0);

		loader_end_with_parent();
		close(ask[1]);
		while (read(ask[0], &step, sizeof(step)) == sizeof(step)) {
			compute_cpu(STEP_US * 1000L / 3);
			REQUIRE(write(answer[1], &step, sizeof(step)) == sizeof(step));
		}
		span_end(&s);
		_exit(0);
	}
	close(ask[0]);
	for (step = 0; step < AHEAD; step++)
		REQUIRE(write(ask[1], &step, sizeof(step)) == sizeof(step));
}

static void worker_take(long step)
{
	long got;

	REQUIRE(read(answer[0], &got, sizeof(got)) == sizeof(got));
	REQUIRE(write(ask[1], &step, sizeof(step)) == sizeof(step));
}

static void worker_close(void)
{
	close(ask[1]);
	waitpid(worker, NULL, 0);
}

/* ---- saved-beside ----------------------------------------------------------------------------------------------------- */

static sem_t to_save;
static bool over;
static pthread_t saver;

static void *save(void *arg)
{
	char *weights = calloc(1, SAVED);

	REQUIRE(weights);
	for (;;) {
		int fd;

		sem_wait(&to_save);
		if (over)
			break;
		REQUIRE((fd = open(arg, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) >= 0);
		REQUIRE(write(fd, weights, SAVED) == SAVED && fsync(fd) == 0);
		close(fd);
	}
	free(weights);
	return NULL;
}

static void saver_open(void)
{
	sem_init(&to_save, 0, 0);
	REQUIRE(getenv("LAB_SAVE") && pthread_create(&saver, NULL, save, getenv("LAB_SAVE")) == 0);
}

static void saver_tell(long step)
{
	if (step % 8 == 0)
		sem_post(&to_save);
}

static void saver_close(void)
{
	over = true;
	sem_post(&to_save);
	pthread_join(saver, NULL);
}

/* ---- copied-beside ---------------------------------------------------------------------------------------------------- */

static void *pinned;
static CUdeviceptr batch;

static void copies_open(void)
{
	CHECK(cuMemHostAlloc(&pinned, COPIED, 0));
	memset(pinned, 1, COPIED);
	CHECK(cuMemAlloc(&batch, COPIED));
}

static void copies_make(long step)
{
	(void)step;
	CHECK(cuMemcpyHtoDAsync(batch, pinned, COPIED, devices[0].streams[1]));
}

static const struct control controls[] = { { "plain", 1, 1, NULL, NULL, NULL },
					   { "well-fed", 1, 1, worker_open, worker_take, worker_close },
					   { "saved-beside", 1, 1, saver_open, saver_tell, saver_close },
					   { "copied-beside", 2, 1, copies_open, copies_make, NULL },
					   { "streams", 4, 1, NULL, NULL, NULL },
					   { "devices", 4, 2, NULL, NULL, NULL } };

/* ---- training --------------------------------------------------------------------------------------------------------- */

static void device_make(const struct control *c, int i)
{
	CUmodule module;
	char name[32];

	snprintf(name, sizeof(name), "step__%dus", STEP_US);
	CHECK(cuDevicePrimaryCtxRetain(&devices[i].context, i));
	CHECK(cuCtxSetCurrent(devices[i].context));
	CHECK(cuModuleLoadData(&module, "x"));
	CHECK(cuModuleGetFunction(&devices[i].kernel, module, name));
	for (int k = 0; k < c->streams; k++)
		CHECK(cuStreamCreate(&devices[i].streams[k], CU_STREAM_NON_BLOCKING));
	for (int k = 0; k < AHEAD; k++)
		CHECK(cuEventCreate(&devices[i].done[k], CU_EVENT_DISABLE_TIMING));
}

/* The copies have a stream to themselves. */
static int working_streams(const struct control *c)
{
	return c->beside == copies_make ? 1 : c->streams;
}

static void launch(const struct control *c, long step)
{
	for (int i = 0; i < c->devices; i++) {
		if (c->devices > 1)
			CHECK(cuCtxSetCurrent(devices[i].context));
		for (int k = 0; k < working_streams(c); k++)
			CHECK(cuLaunchKernel(devices[i].kernel, 64, 1, 1, 128, 1, 1, 0, devices[i].streams[k], NULL,
					     NULL));
		CHECK(cuEventRecord(devices[i].done[step % AHEAD], devices[i].streams[0]));
	}
}

static void wait_for(const struct control *c, long step)
{
	for (int i = 0; i < c->devices; i++)
		CHECK(cuEventSynchronize(devices[i].done[step % AHEAD]));
}

static void train(const struct control *c, long steps)
{
	struct span s = span_begin("host-compute", "main", 0);

	for (long step = 0; step < steps; step++) {
		launch(c, step);
		if (c->beside)
			c->beside(step);
		if (step + 1 >= AHEAD)
			wait_for(c, step + 1 - AHEAD);
		printf("step %ld\n", step);
	}
	wait_for(c, steps - 1);
	span_end(&s);
}

int main(int argc, char **argv)
{
	const struct control *c = NULL;
	long steps = argc == 3 ? atol(argv[2]) : 0;

	for (size_t i = 0; steps > 0 && i < sizeof(controls) / sizeof(controls[0]); i++)
		if (strcmp(controls[i].name, argv[1]) == 0)
			c = &controls[i];
	if (!c)
		return 2;
	truth_open();
	setvbuf(stdout, NULL, _IOLBF, 0);
	CHECK(cuInit(0));
	for (int i = c->devices - 1; i >= 0; i--)
		device_make(c, i);
	if (c->open)
		c->open();
	train(c, steps);
	if (c->close)
		c->close();
	return 0;
}
