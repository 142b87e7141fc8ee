/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "bytes.h"

#define STACKS_PPM 5000                                           /* half a percent */
#define LIMIT_LEAST (GST_SEGMENTS_OFFSET + 4 * GST_SEGMENT_BYTES) /* the program's thread, ours, and what is kept */

struct settings settings;

/* "off", "on", or a share in percent: "2", "0.5%". */
static uint32_t parse_stacks(const char *text)
{
	uint64_t ppm, unit = 10000;
	char *end;

	if (!text || !*text || strcmp(text, "on") == 0)
		return STACKS_PPM;
	if (strcmp(text, "off") == 0)
		return 0;
	if (*text != '.' && (*text < '0' || *text > '9')) /* "-1" would be a large number */
		return STACKS_PPM;
	ppm = strtoull(text, &end, 10);
	ppm = (ppm < 100 ? ppm : 100) * unit;
	if (*end == '.')
		while (*++end >= '0' && *end <= '9' && unit >= 10)
			ppm += (uint64_t)(*end - '0') * (unit /= 10);
	return ppm < 1000000 ? (uint32_t)ppm : 1000000;
}

/* With one hardware queue, timing events serialise streams that would overlap: no injected events then, whoever asks for them. */
static bool one_queue;

void settings_read_queues(void)
{
	const char *connections = getenv("CUDA_DEVICE_MAX_CONNECTIONS");

	if (!connections || strtoul(connections, NULL, 10) != 1)
		return;
	one_queue = true;
	if (settings.level > GST_LEVEL_HOST)
		settings.level = GST_LEVEL_HOST;
}

enum gst_device_level settings_auto_level(void)
{
	return one_queue ? GST_LEVEL_HOST : GST_LEVEL_BURSTS;
}

static enum gst_device_level parse_level(const char *text)
{
	if (text && strcmp(text, "host") == 0)
		return GST_LEVEL_HOST;
	if (text && strcmp(text, "edges") == 0)
		return one_queue ? GST_LEVEL_HOST : GST_LEVEL_EDGES;
	return settings_auto_level(); /* also for `cupti`, where that is not to be had */
}

static bool is_level(const char *text)
{
	static const char *const levels[] = { "", "auto", "host", "edges", "bursts", "cupti" };

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (strcmp(text, levels[i]) == 0)
			return true;
	return false;
}

void settings_log_level(void)
{
	if (settings.unknown_level[0])
		settings_log("GPUSHIM_DEVICE=%s is no level: auto is taken", settings.unknown_level);
	if (one_queue)
		settings_log("CUDA_DEVICE_MAX_CONNECTIONS=1: device times at level host");
}

/* out := dir, made absolute against the directory the program started in. */
static bool absolute(char *out, size_t size, const char *dir)
{
	size_t at = 0;

	if (dir[0] != '/') {
		if (!getcwd(out, size))
			return false;
		at = strlen(out);
		out[at++] = '/';
	}
	if (at + strlen(dir) + 1 > size)
		return false;
	strcpy(out + at, dir);
	return true;
}

void settings_read(void)
{
	const char *off = getenv("GPUSHIM"), *log = getenv("GPUSHIM_LOG"), *out = getenv("GPUSHIM_OUT");
	const char *limit = getenv("GPUSHIM_LIMIT"), *run = getenv("GPUSHIM_RUN");
	const char *level = getenv("GPUSHIM_DEVICE"), *local = getenv("GPUSHIM_LOCAL"), *tmpdir = getenv("TMPDIR");

	settings.enabled = !(off && strcmp(off, "off") == 0);
	settings.log = log && strcmp(log, "1") == 0;
	settings_read_queues();
	settings.level = parse_level(level);
	settings.cupti = level && strcmp(level, "cupti") == 0;
	settings.stacks_ppm = parse_stacks(getenv("GPUSHIM_STACKS"));
	if (level && !is_level(level))
		strncpy(settings.unknown_level, level, sizeof(settings.unknown_level) - 1);
	settings.limit_bytes = limit ? bytes_parse(limit) : 0;
	if (!settings.limit_bytes)
		settings.limit_bytes = BYTES_LIMIT;
	if (settings.limit_bytes < LIMIT_LEAST) {
		settings_log("GPUSHIM_LIMIT is raised to %u, the least that recording works in", LIMIT_LEAST);
		settings.limit_bytes = LIMIT_LEAST;
	}
	if (run)
		strncpy(settings.run_id, run, sizeof(settings.run_id) - 1);
	if (!absolute(settings.out, sizeof(settings.out), out && *out ? out : "gpushim-out"))
		settings.enabled = false;
	if (!local || !*local || !absolute(settings.local, sizeof(settings.local), local))
		settings.local[0] = 0;
	if (!tmpdir || !*tmpdir || !absolute(settings.tmpdir, sizeof(settings.tmpdir), tmpdir))
		settings.tmpdir[0] = 0;
	/* A program with rights that its caller lacks: what the caller's environment names is not for us to write to. */
	if (getauxval(AT_SECURE))
		settings.enabled = false;
}

static __thread char *kept;

void settings_log_keep(char *line)
{
	kept = line;
	if (line)
		*line = 0;
}

bool settings_log_write(const char *line)
{
	return *line && write(STDERR_FILENO, line, strlen(line)) >= 0;
}

bool settings_log(const char *format, ...)
{
	char line[LOG_LINE] = "gpushim: ";
	size_t at = strlen(line);
	va_list ap;
	int n;

	if (!settings.log)
		return false;
	va_start(ap, format);
	n = vsnprintf(line + at, sizeof(line) - at - 2, format, ap);
	va_end(ap);
	at += n < 0 ? 0 : (size_t)n > sizeof(line) - at - 3 ? sizeof(line) - at - 3 : (size_t)n;
	line[at++] = '\n';
	line[at] = 0;
	if (!kept)
		return settings_log_write(line);
	if (!*kept)
		strcpy(kept, line);
	return true;
}
