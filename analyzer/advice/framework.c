/* SPDX-License-Identifier: BSD-2-Clause */
#include "framework.h"

#include <string.h>

#include "tools/text.h"

#define STACKS_ASKED 4096 /* a program has hundreds; a file may hold any number */

static const char *const names[FRAMEWORK_COUNT] = { "none", "pytorch", "jax", "tensorflow", "tinygrad" };

const char *framework_name(enum framework f)
{
	return names[f];
}

struct mark {
	const char *begin;
	enum framework framework;
};

/* Folders in a place where packages are installed. */
static const struct mark packages[] = {
	{ "torch/", FRAMEWORK_PYTORCH },
	{ "jax/", FRAMEWORK_JAX },
	{ "jaxlib/", FRAMEWORK_JAX },
	{ "jax_plugins/", FRAMEWORK_JAX },
	{ "tensorflow/", FRAMEWORK_TENSORFLOW },
	{ "tinygrad/", FRAMEWORK_TINYGRAD },
};

/* Files, wherever they are. */
static const struct mark libraries[] = {
	{ "libtorch", FRAMEWORK_PYTORCH },         { "libc10.", FRAMEWORK_PYTORCH },
	{ "libc10_", FRAMEWORK_PYTORCH },          { "xla_extension", FRAMEWORK_JAX },
	{ "xla_cuda_plugin", FRAMEWORK_JAX },      { "libjax", FRAMEWORK_JAX },
	{ "libtensorflow", FRAMEWORK_TENSORFLOW },
};

/* Source trees from which they are used: a folder of that name alone may be anybody's. */
static const struct mark trees[] = {
	{ "/pytorch/torch/", FRAMEWORK_PYTORCH },
	{ "/jax/jax/_src/", FRAMEWORK_JAX },
	{ "/tinygrad/tinygrad/", FRAMEWORK_TINYGRAD },
};

#define COUNT(marks) (sizeof(marks) / sizeof(*(marks)))

static enum framework by_begin(const struct mark *marks, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(text, marks[i].begin, strlen(marks[i].begin)) == 0)
			return marks[i].framework;
	return FRAMEWORK_NONE;
}

static enum framework by_package(const char *path, const char *place)
{
	const char *at = strstr(path, place);

	return at ? by_begin(packages, COUNT(packages), at + strlen(place)) : FRAMEWORK_NONE;
}

enum framework framework_by_path(const char *path)
{
	enum framework f = by_package(path, "/site-packages/");

	f = f ? f : by_package(path, "/dist-packages/");
	f = f ? f : by_begin(libraries, COUNT(libraries), text_base(path));
	for (size_t i = 0; i < COUNT(trees) && !f; i++)
		if (strstr(path, trees[i].begin))
			f = trees[i].framework;
	return f;
}

/* The innermost one: a program may hand data of one to another. */
static enum framework of_stack(const struct stack *s)
{
	for (size_t i = 0; i < s->n_frames; i++) {
		const struct frame *frame = &s->frames[i];
		const char *path = frame->python ? frame->file : frame->object ? frame->object->file.path : NULL;
		enum framework f = path ? framework_by_path(path) : FRAMEWORK_NONE;

		if (f)
			return f;
	}
	return FRAMEWORK_NONE;
}

enum framework framework_by_stacks(const struct stacks *s)
{
	size_t votes[FRAMEWORK_COUNT] = { 0 }, n = s->n < STACKS_ASKED ? s->n : STACKS_ASKED;
	enum framework most = FRAMEWORK_NONE;

	for (size_t i = 0; i < n; i++)
		votes[of_stack(&s->all[i])]++;
	for (enum framework f = FRAMEWORK_NONE + 1; f < FRAMEWORK_COUNT; f++)
		if (votes[f] > (most ? votes[most] : 0))
			most = f;
	return most;
}

/* What only one framework calls its operators and ranges. */
static const struct mark operators[] = {
	{ "aten::", FRAMEWORK_PYTORCH },
	{ "enumerate(DataLoader)", FRAMEWORK_PYTORCH },
	{ "torch/", FRAMEWORK_PYTORCH },
	{ "jax/_src/", FRAMEWORK_JAX },
	{ "tensorflow/python/", FRAMEWORK_TENSORFLOW },
};

enum framework framework_by_ops(const struct host_ops *o)
{
	enum framework f = FRAMEWORK_NONE;

	for (size_t i = 1; i < o->n_names && !f; i++)
		f = by_begin(operators, COUNT(operators), o->names[i]);
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
		enum framework f = framework_by_stacks(&run->traces[i]->stacks);

		if (run->traces[i]->memory.n_blocks) /* only PyTorch's allocator tells of its blocks */
			return FRAMEWORK_PYTORCH;
		f = f ? f : framework_by_ops(&run->traces[i]->host_ops);
		if (f)
			return f;
	}
	return torch_tasks(run) ? FRAMEWORK_PYTORCH : FRAMEWORK_NONE;
}
