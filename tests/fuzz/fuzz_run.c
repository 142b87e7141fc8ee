/* SPDX-License-Identifier: BSD-2-Clause */
/* Up to three traces as files of one directory: which of them are a run never depends on chance, each belongs to exactly one, and what
 * is said about them is text. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common.h"
#include "report/report.h"
#include "run/run.h"

static char folder[64];

static void remove_folder(void)
{
	char path[128];

	for (size_t i = 0; i < FUZZ_TRACES; i++) {
		snprintf(path, sizeof(path), "%s/%zu.gst", folder, i);
		unlink(path);
	}
	rmdir(folder);
}

static void make_folder(void)
{
	if (folder[0])
		return;
	snprintf(folder, sizeof(folder), "%s/fuzz_run-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	require(mkdtemp(folder) != NULL);
	atexit(remove_folder);
}

static void write_traces(const struct gst_image *images, size_t n)
{
	char path[128];

	for (size_t i = 0; i < FUZZ_TRACES; i++) {
		int file;

		snprintf(path, sizeof(path), "%s/%zu.gst", folder, i);
		unlink(path);
		if (i >= n)
			continue;
		file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
		require(file >= 0 && write(file, images[i].bytes, images[i].len) == (ssize_t)images[i].len);
		close(file);
	}
}

static void require_plain(void (*print)(FILE *out, const void *arg), const void *arg)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	require(out != NULL);
	print(out, arg);
	require(fclose(out) == 0);
	for (size_t i = 0; i < len; i++)
		require((unsigned char)text[i] >= ' ' || text[i] == '\n');
	free(text);
}

static const struct report_style style = { .columns = 80 };

static void print_runs(FILE *out, const void *arg)
{
	report_runs(out, arg, &style);
}

static void print_info(FILE *out, const void *arg)
{
	struct error e;

	report_info(out, arg, &style, &e);
}

static size_t check_run(const struct run *run)
{
	struct timeline timeline;
	struct error e;

	require(timeline_build(&timeline, run, &e) == ERR_NONE);
	for (size_t i = 0; i < timeline.n_devices; i++)
		fuzz_check_device(&timeline.devices[i]);
	timeline_free(&timeline);
	for (size_t i = 0; i < run->n_traces; i++)
		require_plain(print_info, run->traces[i]);
	return run->n_traces;
}

static void check_folder(void)
{
	char *paths[] = { folder };
	size_t processes = 0;
	struct run all, one;
	struct error e;

	if (run_open(&all, paths, 1, RUN_ALL, &e) != ERR_NONE)
		return;
	require_plain(print_runs, &all);
	for (int i = 0; i < all.count; i++) {
		require(run_open(&one, paths, 1, i, &e) == ERR_NONE);
		require(one.index == i && one.count == all.count);
		processes += check_run(&one);
		run_close(&one);
	}
	require(processes == check_run(&all));
	run_close(&all);
	require(run_open(&one, paths, 1, RUN_LAST, &e) == ERR_NONE && one.index == one.count - 1);
	run_close(&one);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct gst_image images[FUZZ_TRACES];
	size_t n = fuzz_expand(images, data, len);

	make_folder();
	write_traces(images, n);
	check_folder();
	for (size_t i = 0; i < n; i++)
		gst_image_free(&images[i]);
	return 0;
}
