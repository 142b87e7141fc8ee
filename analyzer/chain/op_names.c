/* SPDX-License-Identifier: BSD-2-Clause */
#include "op_names.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *part;
	enum loader is;
} loaders[] = {
#define LOADER(part, kind) { part, kind },
#include "loader_names.def"
};

/* As CUPTI's readers write its kinds of overhead; all others are the profiler's. */
static const struct {
	const char *part;
	enum overhead is;
} overheads[] = {
	{ "module load", OVERHEAD_LOADS_CODE },   /* "Runtime Triggered Module Loading" */
	{ "function load", OVERHEAD_LOADS_CODE }, /* "Lazy Function Loading" */
	{ "compil", OVERHEAD_LOADS_CODE },        /* "Driver Compiler" */
	{ "command buffer", OVERHEAD_DRIVER },    /* "Command Buffer Full": it waits for the device */
};

static const char *const wants_cpu[] = { "preempt", "runnable", "ready to run", "no cpu" };

/* As it is compared: capitals are small, and what joins words parts them. */
static char small(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c == '_' ? ' ' : c;
}

/* A * in the part is anything, or nothing. */
static bool has(const char *name, const char *part)
{
	for (; *name; name++) {
		size_t i = 0;

		while (part[i] && part[i] != '*' && small(name[i]) == small(part[i]))
			i++;
		if (!part[i])
			return true;
		if (part[i] == '*')
			return has(name + i, part + i + 1);
	}
	return false;
}

/* Paths are of functions alone, all else is of operators and ranges. */
static enum loader find(const char *name, bool paths)
{
	for (size_t i = 0; name && *name && i < sizeof(loaders) / sizeof(loaders[0]); i++)
		if ((strchr(loaders[i].part, '/') != NULL) == paths && has(name, loaders[i].part))
			return loaders[i].is;
	return LOADER_NONE;
}

enum loader loader_by_name(const char *name)
{
	return find(name, false);
}

enum loader loader_by_function(const char *name)
{
	return find(name, true);
}

bool op_is_window(const char *name)
{
	return strncmp(name, "ProfilerStep", strlen("ProfilerStep")) == 0;
}

bool off_cpu_wants_cpu(const char *name)
{
	for (size_t i = 0; i < sizeof(wants_cpu) / sizeof(wants_cpu[0]); i++)
		if (has(name, wants_cpu[i]))
			return true;
	return false;
}

enum overhead overhead_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(overheads) / sizeof(overheads[0]); i++)
		if (has(name, overheads[i].part))
			return overheads[i].is;
	return OVERHEAD_PROFILER;
}
