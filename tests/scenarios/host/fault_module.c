/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_module.c: code is loaded, linked or compiled in the loop ($LAB_WAY): how long the driver takes for it $SIMGPU_SLOW says; a function's
 * first launch: $SIMGPU_FIRST_LAUNCH_US. A compiler is a process of its own, which computes, and for which the thread waits. */
#include "work.h"

#include <spawn.h>
#include <sys/wait.h>

enum way { WAY_MODULE, WAY_LIBRARY, WAY_LINK };

extern char **environ;

static long way;

static void open_module(void)
{
	way = lab_param("LAB_WAY", WAY_MODULE);
}

static void link_code(void)
{
	static char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n";
	CUlinkState state;
	CUmodule module;
	size_t size;
	void *image;

	CHECK(cuLinkCreate(0, NULL, NULL, &state));
	CHECK(cuLinkAddData(state, CU_JIT_INPUT_PTX, text, sizeof(text), "layer", 0, NULL, NULL));
	CHECK(cuLinkComplete(state, &image, &size));
	CHECK(cuModuleLoadData(&module, image));
	CHECK(cuLinkDestroy(state));
	CHECK(cuModuleUnload(module));
}

static void act_module(long step)
{
	struct span s = span_begin("module-load", "main", step);
	CUlibrary library;
	CUmodule module;

	switch (way) {
	case WAY_LIBRARY:
		CHECK(cuLibraryLoadData(&library, "x", NULL, NULL, 0, NULL, NULL, 0));
		CHECK(cuLibraryUnload(library));
		break;
	case WAY_LINK:
		link_code();
		break;
	default:
		CHECK(cuModuleLoadData(&module, "x"));
		CHECK(cuModuleUnload(module));
	}
	span_end(&s);
}

/* A function that has never been launched. */
static void act_lazy(long step)
{
	char word[32];
	CUfunction f;
	struct span s;

	snprintf(word, sizeof(word), "specialised_%ld", step);
	f = work_kernel_of(0, word, 200);
	s = span_begin("module-load", "main", step);
	work_launch(0, f, work_stream(0, 0));
	span_end(&s);
	work_wait(0);
}

/* $LAB_COMPILER computes for so long, and is called what a compiler is called. */
static void act_compile(long step)
{
	char ns[32], number[32];
	char *args[] = { getenv("LAB_COMPILER"), ns, number, NULL };
	struct span s;
	int status;
	pid_t pid;

	snprintf(ns, sizeof(ns), "%ld", lab_length(step));
	snprintf(number, sizeof(number), "%ld", step);
	s = span_begin("module-load", "main", step);
	REQUIRE(posix_spawn(&pid, args[0], NULL, NULL, args, environ) == 0);
	REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
	span_end(&s);
}

const struct fault fault_module = { "module", open_module, NULL, act_module, NULL };
const struct fault fault_lazy = { "lazy", NULL, NULL, act_lazy, NULL };
const struct fault fault_compiler = { "compile", NULL, NULL, act_compile, NULL };
