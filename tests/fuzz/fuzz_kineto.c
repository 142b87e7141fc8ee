/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a trace of Kineto's or Chrome's, packed or not: nothing crashes, and what is made of it is a run like any other, whose sums hold and whose
 * report is whole JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <yajl/yajl_parse.h>

#include "common.h"
#include "import/import.h"
#include "import/import_build.h"
#include "report/report.h"
#include "run/run.h"
#include "tests/unit/summary_sound.h"

static void check_trace(const struct trace *t)
{
	const struct host_ops *ops = &t->host_ops;

	for (size_t i = 0; i < t->n_calls; i++)
		require(t->calls[i].begin_ns <= t->calls[i].end_ns &&
			(i == 0 || t->calls[i - 1].begin_ns <= t->calls[i].begin_ns));
	for (size_t i = 0; i < ops->n; i++) {
		require(ops->at[i].begin_ns < ops->at[i].end_ns && ops->at[i].name < ops->n_names);
		require(i == 0 || ops->at[i - 1].tid < ops->at[i].tid ||
			(ops->at[i - 1].tid == ops->at[i].tid && ops->at[i - 1].begin_ns <= ops->at[i].begin_ns));
	}
}

static void check_json(const struct summary *s)
{
	yajl_handle parser = yajl_alloc(NULL, NULL, NULL);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	struct error e;

	require(out && report_json(out, s, REPORT_ALL, &e) == ERR_NONE && fclose(out) == 0);
	require(yajl_parse(parser, (const unsigned char *)text, len) == yajl_status_ok);
	require(yajl_complete_parse(parser) == yajl_status_ok);
	yajl_free(parser);
	free(text);
}

static void check_run(const struct run *run)
{
	struct timeline timeline;
	struct summary summary;
	struct error e;

	require(summary_of_run(&summary, &timeline, run, &e) == ERR_NONE);
	for (size_t i = 0; i < summary.n_devices; i++)
		fuzz_check_device(summary.devices[i].timeline);
	require(summary_unsound(&summary) == NULL);
	check_json(&summary);
	summary_free(&summary);
	timeline_free(&timeline);
}

/* The facts -> processes; damage lies within what was read. */
static size_t import(struct trace ***traces, const char *path)
{
	struct import_build *b = import_build_new(path, "kineto");
	struct error damage = { .kind = ERR_NONE }, e;
	enum err_kind kind = import_kineto(b, path, &damage, &e);
	size_t n = 0;

	*traces = NULL;
	require(kind == ERR_NONE || kind == ERR_FORMAT || import_failed(b));
	require(damage.kind == ERR_NONE || damage.byte != ERR_NO_BYTE);
	if (kind == ERR_NONE && import_build_finish(traces, &n, b, damage.kind ? &damage : NULL, &e) != ERR_NONE)
		n = 0;
	import_build_free(b);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	int fd = memfd_create("fuzz", 0);
	char path[64];
	struct run run = { .count = 1 };

	require(fd >= 0 && write(fd, data, len) == (ssize_t)len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	run.n_traces = import(&run.traces, path);
	for (size_t i = 0; i < run.n_traces; i++)
		check_trace(run.traces[i]);
	if (run.n_traces)
		check_run(&run);
	for (size_t i = 0; i < run.n_traces; i++)
		trace_free(run.traces[i]);
	free(run.traces);
	close(fd);
	return 0;
}
