/* SPDX-License-Identifier: BSD-2-Clause */
#include "framework.h"

#include <string.h>

static const char *const names[FRAMEWORK_COUNT] = { "none", "pytorch", "jax", "tensorflow", "tinygrad" };

const char *framework_name(enum framework f)
{
	return names[f];
}

/* Parts of paths: of libraries that stacks go through, of Python files. */
static const struct {
	const char *part;
	enum framework framework;
} marks[] = {
	{ "/libtorch", FRAMEWORK_PYTORCH },
	{ "/torch/", FRAMEWORK_PYTORCH },
	{ "/libc10", FRAMEWORK_PYTORCH },
	{ "/jaxlib/", FRAMEWORK_JAX },
	{ "/jax/", FRAMEWORK_JAX },
	{ "/xla_extension", FRAMEWORK_JAX },
	{ "/tensorflow/", FRAMEWORK_TENSORFLOW },
	{ "/libtensorflow", FRAMEWORK_TENSORFLOW },
	{ "/tinygrad/", FRAMEWORK_TINYGRAD },
};

static enum framework by_path(const char *path)
{
	for (size_t i = 0; path && i < sizeof(marks) / sizeof(*marks); i++)
		if (strstr(path, marks[i].part))
			return marks[i].framework;
	return FRAMEWORK_NONE;
}

static enum framework by_stacks(const struct stacks *s)
{
	enum framework f = FRAMEWORK_NONE;

	for (size_t i = 0; i < s->n_objects && !f; i++)
		f = by_path(s->objects[i].file.path);
	for (size_t i = 0; i < s->n_codes && !f; i++)
		f = by_path(s->codes[i].file);
	return f;
}

/* PyTorch names its loader's processes and threads: pt_data_worker, pt_data_pin, pt_main_thread. */
static bool torch_tasks(const struct run *run)
{
	for (size_t i = 0; i < run->n_hosts; i++)
		for (size_t k = 0; k < run->hosts[i]->n_tasks; k++)
			if (!strncmp(run->hosts[i]->tasks[k].name, "pt_data_", 8) ||
			    !strncmp(run->hosts[i]->tasks[k].name, "pt_main_", 8))
				return true;
	return false;
}

enum framework framework_of(const struct run *run)
{
	for (size_t i = 0; i < run->n_traces; i++) {
		enum framework f = by_stacks(&run->traces[i]->stacks);

		if (run->traces[i]->memory.n_blocks) /* only PyTorch's allocator tells of its blocks */
			return FRAMEWORK_PYTORCH;
		if (f)
			return f;
	}
	return torch_tasks(run) ? FRAMEWORK_PYTORCH : FRAMEWORK_NONE;
}
