/* SPDX-License-Identifier: BSD-2-Clause */
/* Three routes lead to the driver (INTERPOSE facts, measured on CUDA 13.0):
 *   linked programs          find our exported cu* first, because we are preloaded
 *   dlopen + dlsym           our dlsym (arch/dlsym_*.S) asks dlsym_hook below and otherwise jumps on to the real one, so that
 *                            RTLD_NEXT still means the caller's next
 *   cuGetProcAddress         our wrapper swaps the answer by pointer identity (capture.c, entry_point_found)
 * The first two lead to NCCL as well, of which there may be several copies (nccl_copy.c).
 * No libc string functions in the first lines of dlsym_hook: AddressSanitizer calls dlsym before libc is usable. */
#include "resolve.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "arch.h"
#include "cupti.h"
#include "cupti_hooks.h"
#include "driver.h"
#include "elf_object.h"
#include "glibc.h"
#include "nccl_copy.h"
#include "once.h"
#include "settings.h"

#define SWAPS 4096 /* power of two, more than twice all names and our own functions */

typedef void *dlsym_fn(void *handle, const char *name);

/* For arch/dlsym_*.S: the real dlsym, and whether it is to be asked at all. */
struct dlsym_answer {
	void *result;
	uintptr_t final; /* 0: go on to the real dlsym */
};
__attribute__((visibility("hidden"))) dlsym_fn *gpushim_real_dlsym;
__attribute__((visibility("hidden"))) struct dlsym_answer gpushim_dlsym_hook(void *handle, const char *name,
									     uintptr_t caller);

static struct swap {
	void *real, *wrapper;
} swaps[SWAPS];
static bool started;
static struct once resolving;
static struct driver driver;
static void *by_name; /* the loader's handle of what libcuda.so.1 means: the driver, in the twin we */
static struct resolve_range of_driver, of_us, of_tool;

/* NULL: the process has none, and whoever comes to ask for a symbol brings it (glibc before 2.34). */
static dlsym_fn *real_dlsym(void)
{
	struct elf_object libdl;

	if (!gpushim_real_dlsym)
		gpushim_real_dlsym = (dlsym_fn *)glibc_dlvsym(RTLD_NEXT, "dlsym", ARCH_GLIBC);
	if (!gpushim_real_dlsym && elf_object_find(&libdl, "libdl.so.2"))
		gpushim_real_dlsym = (dlsym_fn *)elf_object_symbol(&libdl, "dlsym");
	return gpushim_real_dlsym;
}

void *resolve_real_dlsym(void *handle, const char *name)
{
	void *p = real_dlsym() ? real_dlsym()(handle, name) : NULL;

	__asm__ volatile("" : "+r"(p)); /* no jump: whoever calls dlsym is who RTLD_NEXT is about */
	return p;
}

void resolve_start(void)
{
	real_dlsym();
	started = settings.enabled;
}

/* ---- pointers ------------------------------------------------------------------------------------------------------- */

static struct swap *swap_at(void *p)
{
	uintptr_t h = (uintptr_t)p * 0x9e3779b97f4a7c15u >> 40;

	while (swaps[h % SWAPS].real && swaps[h % SWAPS].real != p)
		h++;
	return &swaps[h % SWAPS];
}

static void *driver_symbol(const struct driver *d, const char *name)
{
	if (d->handle)
		return real_dlsym() ? real_dlsym()(d->handle, name) : NULL;
	return d->object.symbols ? elf_object_symbol(&d->object, name) : NULL;
}

void *resolve_swap(void *p)
{
	struct swap *s = p ? swap_at(p) : NULL;

	return s && s->real ? s->wrapper : p;
}

/* The names we leave alone: ours to tell from those that we know nothing of. */
static const char *const passed_on[] = {
#define PASS(name, reason) #name,
#include "not_hooked.def"
#undef PASS
};
#define PASSED_ON (sizeof(passed_on) / sizeof(*passed_on))

bool resolve_is_known(void *p)
{
	return p && swap_at(p)->real != NULL;
}

static int find_range(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct resolve_range *r = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type == PT_LOAD && r->inside >= begin &&
		    r->inside < begin + info->dlpi_phdr[i].p_memsz) {
			r->begin = begin;
			r->end = begin + info->dlpi_phdr[i].p_memsz;
			r->base = info->dlpi_addr;
			r->path = info->dlpi_name;
			return 1;
		}
	}
	return 0;
}

struct resolve_range resolve_range_of(const void *inside)
{
	struct resolve_range range = { .inside = (uintptr_t)inside };

	dl_iterate_phdr(find_range, &range);
	return range;
}

static bool lies_in(const struct resolve_range *r, uintptr_t p)
{
	return p >= r->begin && p < r->end;
}

/* As the stub library of NVIDIA's toolkit says it, which is linked against where no driver is. */
static CUresult no_driver(void)
{
	return CUDA_ERROR_STUB_LIBRARY;
}

/* All calls of the loader come first and outside the once: the loader has a lock of its own, and a thread that holds it (in a
 * library's constructor) may be waiting for us. Several threads may look everything up; one of them writes it down. */
void resolve_driver(void)
{
	void *found[HOOK_COUNT], *passed[PASSED_ON], *named;
	struct driver libcuda = { 0 };
	struct resolve_range range, own;

	if (once_is_done(&resolving))
		return;
	driver_open(&libcuda);
	named = glibc_dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	for (unsigned i = 0; i < HOOK_COUNT; i++) {
		found[i] = driver_symbol(&libcuda, hooks[i].name);
		if (found[i] == hooks[i].wrapper)
			found[i] = NULL;
	}
	for (unsigned i = 0; i < PASSED_ON; i++)
		passed[i] = driver_symbol(&libcuda, passed_on[i]);
	range = resolve_range_of(found[HOOK_cuInit]);
	own = resolve_range_of((void *)resolve_driver);
	glibc_dlerror(); /* a driver that lacks a function must not leave an error for the program to find */
	if (!once_begin(&resolving))
		return;
	for (unsigned i = 0; i < HOOK_COUNT; i++) {
		if (found[i] && hooks[i].wrapper) {
			*swap_at(found[i]) = (struct swap){ found[i], hooks[i].wrapper };
			*swap_at(hooks[i].wrapper) = (struct swap){ hooks[i].wrapper, hooks[i].wrapper };
		}
		if (!found[i])
			found[i] = range.inside ? hooks[i].absent : (void *)no_driver;
		__atomic_store_n(hooks[i].real, found[i], __ATOMIC_RELEASE);
	}
	for (unsigned i = 0; i < PASSED_ON; i++)
		if (passed[i] && !swap_at(passed[i])->real)
			*swap_at(passed[i]) = (struct swap){ passed[i], passed[i] };
	driver = libcuda;
	by_name = named;
	of_driver = range;
	of_us = own;
	once_end(&resolving, true);
}

void *resolve_in_driver(const char *name)
{
	void *p;

	resolve_driver();
	p = driver_symbol(&driver, name);
	glibc_dlerror();
	return p;
}

/* ---- dlsym ---------------------------------------------------------------------------------------------------------- */

#define NAMES 2048 /* power of two, more than twice all names */

/* Hash table of hooks by name: index + 1, 0 none. Made by whoever asks first (a helper program never does); until it is made the others
 * go through the whole list. */
static uint16_t names[NAMES];
static uint32_t names_made; /* 0 not yet, 1 being made, 2 made */

static uint16_t *name_at(const char *name)
{
	uint32_t h = 0x811c9dc5u;

	for (const char *c = name; *c; c++)
		h = (h ^ (uint8_t)*c) * 0x01000193u;
	while (names[h % NAMES] && strcmp(hooks[names[h % NAMES] - 1].name, name) != 0)
		h++;
	return &names[h % NAMES];
}

static bool names_are_made(void)
{
	uint32_t state = __atomic_load_n(&names_made, __ATOMIC_ACQUIRE);

	if (state || !__atomic_compare_exchange_n(&names_made, &state, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		return state == 2;
	for (unsigned i = 0; i < HOOK_COUNT; i++)
		if (hooks[i].wrapper)
			*name_at(hooks[i].name) = (uint16_t)(i + 1);
	__atomic_store_n(&names_made, 2, __ATOMIC_RELEASE);
	return true;
}

static const struct hook *hook_by_name(const char *name)
{
	uint16_t found;

	if (names_are_made()) {
		found = *name_at(name);
		return found ? &hooks[found - 1] : NULL;
	}
	for (unsigned i = 0; i < HOOK_COUNT; i++)
		if (hooks[i].wrapper && strcmp(hooks[i].name, name) == 0)
			return &hooks[i];
	return NULL;
}

static const struct dlsym_answer pass = { NULL, 0 };

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

bool resolve_is_driver(const void *p)
{
	return lies_in(&of_driver, (uintptr_t)p) || lies_in(&of_tool, (uintptr_t)p);
}

void resolve_add_tool(const void *inside)
{
	of_tool = resolve_range_of(inside);
}

/* libnccl's plugins have names of the same form: the table decides. */
static struct dlsym_answer nccl_answer(void *handle, const char *name, uintptr_t caller)
{
	enum nccl_id id = nccl_id_of(name);
	void *p;

	if (id == NCCL_COUNT || handle == RTLD_NEXT)
		return pass;
	p = handle == RTLD_DEFAULT ? nccl_find_default(id, (void *)caller) : real_dlsym()(handle, name);
	if (!p && handle != RTLD_DEFAULT)
		return pass;
	/* By the program's own handle it is ours that is found: what it would find without us. */
	if (!p || p == nccl_hooks[id].wrapper)
		p = real_dlsym()(RTLD_NEXT, name); /* the last to ask, so that a failure is what dlerror tells */
	return (struct dlsym_answer){ p ? nccl_bind(p, id) : NULL, 1 };
}

/* Names that we export as libcupti does: what the asker would find without us. */
static struct dlsym_answer cupti_answer(void *handle, const char *name, uintptr_t caller)
{
	const void *ours = cupti_own(name);
	void *p;

	if (!ours || handle == RTLD_NEXT || resolve_is_driver((void *)caller))
		return pass;
	p = real_dlsym()(handle == RTLD_DEFAULT ? RTLD_NEXT : handle, name);
	if (p != ours)
		return (struct dlsym_answer){ cupti_bind(name, p), p || handle == RTLD_DEFAULT };
	/* By the program's own handle: the last to ask, so that a failure is what dlerror tells. */
	return (struct dlsym_answer){ cupti_bind(name, real_dlsym()(RTLD_NEXT, name)), 1 };
}

/* To the twin a handle of libcuda.so.1 is its own. What the driver lacks must look absent, what only the driver has must be found, and
 * who looks for functions of the driver without being recorded, as the driver itself, must not get ours. */
static struct dlsym_answer twin_answer(void *handle, const char *name, uintptr_t caller)
{
	void *p = real_dlsym()(handle, name);

	resolve_driver();
	if (p ? !lies_in(&of_us, (uintptr_t)p) : handle != by_name)
		return (struct dlsym_answer){ resolve_swap(p), p != NULL };
	if (driver.handle) /* where it has none, its error text is what dlerror gives next */
		p = real_dlsym()(driver.handle, name);
	return (struct dlsym_answer){ resolve_is_driver((void *)caller) || cupti_is_starting() ? p : resolve_swap(p),
				      1 };
}

struct dlsym_answer gpushim_dlsym_hook(void *handle, const char *name, uintptr_t caller)
{
	const struct hook *h;
	void *p;

	if (!real_dlsym())
		return (struct dlsym_answer){ NULL, 1 };
	if (!started || !name)
		return pass;
	if (name[0] == 'n' && name[1] == 'c' && name[2] == 'c' && name[3] == 'l' && is_upper(name[4]))
		return nccl_answer(handle, name, caller);
	if (strncmp(name, "cupti", 5) == 0)
		return cupti_answer(handle, name, caller);
	if (name[0] != 'c' || name[1] != 'u' || !is_upper(name[2]))
		return pass;
	if (driver_is_twin)
		return handle == RTLD_NEXT ? pass : twin_answer(handle, name, caller);
	h = hook_by_name(name);
	if (!h || handle == RTLD_NEXT || resolve_is_driver((void *)caller) || cupti_is_starting())
		return pass;
	/* By default: what it would find without us, in the objects behind us. */
	p = real_dlsym()(handle == RTLD_DEFAULT ? RTLD_NEXT : handle, name);
	if (!p && handle == RTLD_DEFAULT)
		return (struct dlsym_answer){ NULL, 1 }; /* the real one would find ours */
	if (!p)
		return pass; /* the real one fails again, with the caller's own error text */
	resolve_driver();
	return (struct dlsym_answer){ resolve_swap(p), 1 };
}
