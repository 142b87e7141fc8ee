/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as an SQLite file: nothing crashes or takes long, nothing is written beside it or into it, and of what is made of it the sums hold. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"
#include "import/import.h"
#include "import/import_build.h"
#include "tests/unit/summary_sound.h"

static char folder[] = "/tmp/fuzz_nsys.XXXXXX";
static char path[64];

static void clean(void)
{
	unlink(path);
	rmdir(folder);
}

static void put(const uint8_t *data, size_t len)
{
	int fd;

	if (!*path) {
		require(mkdtemp(folder) != NULL);
		snprintf(path, sizeof(path), "%s/file", folder);
		atexit(clean);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	require(fd >= 0 && write(fd, data, len) == (ssize_t)len);
	close(fd);
}

static void require_untouched(const uint8_t *data, size_t len)
{
	static const char *const beside[] = { "-wal", "-shm", "-journal" };
	uint8_t *now = malloc(len + 1);
	char name[80];
	int fd = open(path, O_RDONLY);

	require(fd >= 0 && now && read(fd, now, len + 1) == (ssize_t)len && memcmp(now, data, len) == 0);
	close(fd);
	free(now);
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", path, beside[i]);
		require(access(name, F_OK) != 0);
	}
}

static void analyse(struct trace **traces, size_t n)
{
	struct run run = { .traces = traces, .n_traces = n, .count = 1 };
	struct timeline timeline;
	struct summary summary;
	struct error e;

	require(summary_of_run(&summary, &timeline, &run, &e) == ERR_NONE);
	for (size_t i = 0; i < summary.n_devices; i++)
		fuzz_check_device(summary.devices[i].timeline);
	require(summary_unsound(&summary) == NULL);
	summary_free(&summary);
	timeline_free(&timeline);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct error damage = { .kind = ERR_NONE }, e;
	struct import_build *b;
	struct trace **traces = NULL;
	size_t n = 0;

	put(data, len);
	b = import_build_new(path, "nsys");
	require(b != NULL);
	if (import_nsys(b, path, &damage, &e) == ERR_NONE && !import_failed(b))
		require(import_build_finish(&traces, &n, b, damage.kind ? &damage : NULL, &e) == ERR_NONE);
	import_build_free(b);
	require_untouched(data, len);
	if (n)
		analyse(traces, n);
	for (size_t i = 0; i < n; i++)
		trace_free(traces[i]);
	free(traces);
	return 0;
}
