/* SPDX-License-Identifier: BSD-2-Clause */
/* loader.c: a worker of loader_linked. */
#include "loader.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

bool loader_options_read(struct loader_options *o, int argc, char **argv)
{
	static const struct {
		const char *name;
		size_t at;
	} numbers[] = { { "workers=", offsetof(struct loader_options, workers) },
			{ "epochs=", offsetof(struct loader_options, epochs) },
			{ "batches=", offsetof(struct loader_options, batches) },
			{ "ms=", offsetof(struct loader_options, ms) },
			{ "depth=", offsetof(struct loader_options, depth) },
			{ "kill=", offsetof(struct loader_options, kill) } };

	for (int i = 1; i < argc; i++) {
		bool known = strncmp(argv[i], "work=", 5) == 0;

		if (known)
			o->work = argv[i] + 5;
		for (size_t n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++)
			if (strncmp(argv[i], numbers[n].name, strlen(numbers[n].name)) == 0) {
				*(long *)((char *)o + numbers[n].at) = atol(argv[i] + strlen(numbers[n].name));
				known = true;
			}
		if (!known)
			return false;
	}
	return o->workers > 0 && o->batches > 0 && o->depth > 0;
}

struct span loader_span(const struct loader_options *o, const char *role, long batch)
{
	bool reads = strcmp(o->work, "read") == 0;
	struct span s;

	s = span_begin(reads                           ? "input-storage"
		       : strcmp(o->work, "sleep") == 0 ? "host-sleep"
						       : "input-preprocess",
		       role, batch);
	if (reads && batch >= 0) {
		s.path = getenv("LAB_FILE");
		s.bytes = lab_bytes(batch);
		s.offset = lab_offset(batch);
	}
	return s;
}

void loader_end_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void read_cold(const struct span *s)
{
	static char *buffer;
	static long size;
	static int fd = -1;

	if (fd < 0)
		REQUIRE(s->path && (fd = open(s->path, O_RDONLY | O_CLOEXEC)) >= 0);
	if (size < s->bytes) {
		free(buffer);
		size = s->bytes;
		REQUIRE((buffer = malloc((size_t)size)));
	}
	posix_fadvise(fd, s->offset, s->bytes, POSIX_FADV_DONTNEED);
	for (long done = 0; done < s->bytes;) {
		ssize_t n = pread(fd, buffer + done, (size_t)(s->bytes - done), s->offset + done);

		REQUIRE(n > 0);
		done += n;
	}
}

static void work(const struct loader_options *o, long batch)
{
	struct span s = loader_span(o, "worker", batch);
	long ns = o->ms > 0 ? o->ms * MS : lab_length(batch);

	if (s.path)
		read_cold(&s);
	else if (strcmp(o->work, "sleep") == 0)
		sleep_ns(ns);
	else
		compute_cpu(ns);
	span_end(&s);
}

struct child {
	pid_t pid;
	int ask, answer;
};

static struct child child_start(const struct loader_options *o, long depth)
{
	struct child c;
	int ask[2], answer[2];

	REQUIRE(pipe(ask) == 0 && pipe(answer) == 0);
	c.pid = fork();
	REQUIRE(c.pid >= 0);
	if (c.pid == 0) {
		loader_end_with_parent();
		close(ask[1]);
		close(answer[0]);
		loader_serve(o, depth, ask[0], answer[1], NULL, 0);
		_exit(0);
	}
	close(ask[0]);
	close(answer[1]);
	c.ask = ask[1];
	c.answer = answer[0];
	return c;
}

void loader_serve(const struct loader_options *o, long depth, int in, int out, char *place, size_t size)
{
	struct child c = { 0 };
	long batch, answered;

	if (depth > 1)
		c = child_start(o, depth - 1);
	for (;;) {
		struct span s = loader_span(o, "asked", -1);

		if (read(in, &batch, sizeof(batch)) != sizeof(batch))
			break;
		s.step = batch;
		span_end_woken(&s);
		if (depth > 1) {
			REQUIRE(write(c.ask, &batch, sizeof(batch)) == sizeof(batch));
			REQUIRE(read(c.answer, &answered, sizeof(answered)) == sizeof(answered) && answered == batch);
		} else {
			work(o, batch);
		}
		s = loader_span(o, "handing on", batch);
		if (place)
			memset(place, (int)batch, size);
		REQUIRE(write(out, &batch, sizeof(batch)) ==
			sizeof(batch)); /* short: in one piece, whoever else writes */
		span_end(&s);
	}
	if (depth > 1) {
		close(c.ask);
		waitpid(c.pid, NULL, 0);
	}
}
