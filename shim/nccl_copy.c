/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbols are looked up in the global scope first, which is the program, what it preloads and what it needs, in this order; then in the
 * scope of the object that refers to them, which is itself and what it needs. We stand at the front of the global scope and so get the
 * calls of everybody, also those that libnccl makes to itself through its PLT. For each caller we look further as the loader would have:
 * the global scope behind us, then the caller's own. */
#include "nccl_copy.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "arch.h"
#include "file.h"
#include "glibc.h"
#include "nap.h"
#include "nccl_comm.h"
#include "resolve.h"
#include "sanitizer.h"

#define CALLERS 256 /* objects that call NCCL */
#define MORE 56     /* copies that are called and not told apart, so not recorded */

struct nccl_copy nccl_copies[NCCL_COPIES];
__thread struct nccl_copy *nccl_inside;

static struct nccl_copy more[MORE];
static uint32_t n_copies, n_more; /* filled and never changed again, never unloaded */
static uint32_t adding;           /* spin lock, held while one is filled in */

static struct caller {
	uintptr_t begin, end; /* end 0: left, its object may be gone; then the place is for another */
	struct nccl_route route;
	uint32_t turn; /* odd while it is being written */
} callers[CALLERS];
static uint32_t n_callers;
static uint64_t unloaded; /* objects that the loader had unloaded when callers were last looked over */

static void lock(void)
{
	for (unsigned n = 0; __atomic_exchange_n(&adding, 1, __ATOMIC_ACQUIRE); n++)
		nap(n);
	sanitizer_taken(&adding);
}

static void unlock(void)
{
	sanitizer_giving(&adding);
	__atomic_store_n(&adding, 0, __ATOMIC_RELEASE);
}

/* ---- copies --------------------------------------------------------------------------------------------------------- */

static struct nccl_copy *nothing_there(void)
{
	static struct nccl_copy absent;

	if (__atomic_load_n(&absent.index, __ATOMIC_ACQUIRE) != NCCL_COPIES) {
		for (unsigned i = 0; i < NCCL_COUNT; i++)
			__atomic_store_n(&absent.at[i], nccl_hooks[i].absent, __ATOMIC_RELAXED);
		__atomic_store_n(&absent.index, NCCL_COPIES, __ATOMIC_RELEASE);
	}
	return &absent;
}

static struct nccl_copy *same_as(void *const found[NCCL_COUNT])
{
	uint32_t n = __atomic_load_n(&n_copies, __ATOMIC_ACQUIRE), m = __atomic_load_n(&n_more, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n; i++)
		if (memcmp(nccl_copies[i].at, found, sizeof(nccl_copies[i].at)) == 0)
			return &nccl_copies[i];
	for (uint32_t i = 0; i < m; i++)
		if (memcmp(more[i].at, found, sizeof(more[i].at)) == 0)
			return &more[i];
	return NULL;
}

static bool is_recorded(const struct nccl_copy *copy)
{
	return copy->index < NCCL_COPIES;
}

static bool known(void *const found[NCCL_COUNT], enum nccl_id id)
{
	return found[id] != nccl_hooks[id].absent;
}

/* The copy with these functions. The object that holds them stays loaded from now on: ours point there. NULL: there are too many. */
static struct nccl_copy *copy_of(void *const found[NCCL_COUNT])
{
	struct nccl_copy *copy = same_as(found);
	const enum nccl_id some = known(found, NCCL_ncclCommInitRank) ? NCCL_ncclCommInitRank : NCCL_ncclGetVersion;
	struct resolve_range object = { 0 };

	if (copy)
		return copy;
	if (known(found, some))
		object = resolve_range_of(found[some]);
	if (object.path && object.path[0])
		glibc_dlopen(object.path, RTLD_LAZY | RTLD_NOLOAD);
	lock();
	copy = same_as(found); /* another thread may have been faster */
	if (!copy && n_copies < NCCL_COPIES) {
		copy = &nccl_copies[n_copies];
		memcpy(copy->at, found, sizeof(copy->at));
		copy->index = n_copies;
		if (object.path)
			strncpy(copy->path, object.path, sizeof(copy->path) - 1);
		__atomic_store_n(&n_copies, n_copies + 1, __ATOMIC_RELEASE);
	} else if (!copy && n_more < MORE) {
		copy = &more[n_more];
		memcpy(copy->at, found, sizeof(copy->at));
		copy->index = NCCL_COPIES;
		__atomic_store_n(&n_more, n_more + 1, __ATOMIC_RELEASE);
	}
	unlock();
	if (!copy || !is_recorded(copy))
		__atomic_fetch_add(&file_counters()->nccl_untracked, 1, __ATOMIC_RELAXED);
	return copy;
}

/* ---- scopes --------------------------------------------------------------------------------------------------------- */

static bool is_ours(const struct resolve_range *object)
{
	return object->path && object->base == resolve_range_of((void *)nccl_route).base;
}

static void *look(void *handle, enum nccl_id id)
{
	void *p = resolve_real_dlsym(handle, nccl_hooks[id].name);

	return p == nccl_hooks[id].wrapper ? NULL : p;
}

/* The object's own handle; NULL: the program itself, or memory that belongs to no object. */
static void *handle_of(const struct resolve_range *object)
{
	return object->path && object->path[0] ? glibc_dlopen(object->path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

/* Fills found; false: nothing of NCCL is in sight. `own` NULL: the global scope alone. */
static bool look_all(void *found[NCCL_COUNT], bool global, void *own)
{
	bool any = false;

	for (unsigned i = 0; i < NCCL_COUNT; i++) {
		void *p = global ? look(RTLD_NEXT, i) : NULL;

		if (!p && own)
			p = look(own, i);
		any |= p != NULL;
		found[i] = p ? p : nccl_hooks[i].absent;
	}
	glibc_dlerror(); /* what a library lacks must not leave an error for the program to find */
	return any;
}

static const char *file_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

static int find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	if (strncmp(file_name(info->dlpi_name), "libnccl.so", strlen("libnccl.so")) != 0)
		return 0;
	*(const char **)arg = info->dlpi_name;
	return 1;
}

/* A caller without any in its scope has ours only because we export it: any library that is loaded must do. */
static bool look_anywhere(void *found[NCCL_COUNT])
{
	const char *path = NULL;
	void *handle;
	bool any;

	dl_iterate_phdr(find_library, &path);
	handle = path ? glibc_dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	any = handle && look_all(found, false, handle);
	if (handle)
		glibc_dlclose(handle);
	return any;
}

/* Is the caller itself an NCCL library? A program's object that has NCCL inside (linked statically) is not. */
static bool is_library(const struct resolve_range *caller, void *own)
{
	void *p = own ? look(own, NCCL_ncclGetUniqueId) : NULL;

	return p && strncmp(file_name(caller->path), "libnccl", strlen("libnccl")) == 0 &&
	       resolve_range_of(p).base == caller->base;
}

/* ---- callers -------------------------------------------------------------------------------------------------------- */

static bool known_caller(uintptr_t address, struct nccl_route *route)
{
	uint32_t n = __atomic_load_n(&n_callers, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n; i++) {
		const struct caller *c = &callers[i];
		uint32_t turn = __atomic_load_n(&c->turn, __ATOMIC_ACQUIRE);

		if (address < __atomic_load_n(&c->begin, __ATOMIC_RELAXED) ||
		    address >= __atomic_load_n(&c->end, __ATOMIC_RELAXED) || turn % 2)
			continue;
		route->copy = __atomic_load_n(&c->route.copy, __ATOMIC_ACQUIRE);
		route->itself = __atomic_load_n(&c->route.itself, __ATOMIC_ACQUIRE);
		if (__atomic_load_n(&c->turn, __ATOMIC_RELAXED) == turn)
			return true;
	}
	return false;
}

/* A place in the table: one whose object is gone, or a new one; NULL: none. */
static struct caller *free_place(void)
{
	for (uint32_t i = 0; i < n_callers; i++)
		if (!callers[i].end)
			return &callers[i];
	return n_callers < CALLERS ? &callers[n_callers] : NULL;
}

static void fill_place(struct caller *c, const struct resolve_range *caller, const struct nccl_route *route)
{
	/* Each of the stores behind it is a release instead of one fence between, which ThreadSanitizer does not know. */
	__atomic_store_n(&c->turn, c->turn + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&c->begin, caller->begin, __ATOMIC_RELEASE);
	__atomic_store_n(&c->end, caller->end, __ATOMIC_RELEASE);
	__atomic_store_n(&c->route.copy, route->copy, __ATOMIC_RELEASE);
	__atomic_store_n(&c->route.itself, route->itself, __ATOMIC_RELEASE);
	__atomic_store_n(&c->turn, c->turn + 1, __ATOMIC_RELEASE);
	if (c == &callers[n_callers])
		__atomic_store_n(&n_callers, n_callers + 1, __ATOMIC_RELEASE);
}

static void remember(const struct resolve_range *caller, const struct nccl_route *route)
{
	struct nccl_route there;
	struct caller *place;

	if (!caller->end)
		return;
	lock();
	if (!known_caller(caller->inside, &there) && (place = free_place()))
		fill_place(place, caller, route);
	unlock();
}

static int count_unloaded(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(uint64_t *)arg = info->dlpi_subs;
	return 1;
}

/* Something was unloaded: another object may lie now where a caller did. */
static void look_over_callers(void)
{
	uint64_t now = 0;

	dl_iterate_phdr(count_unloaded, &now);
	if (__atomic_exchange_n(&unloaded, now, __ATOMIC_ACQ_REL) == now)
		return;
	for (uint32_t i = 0; i < __atomic_load_n(&n_callers, __ATOMIC_ACQUIRE); i++)
		__atomic_store_n(&callers[i].end, 0, __ATOMIC_RELAXED);
}

static struct nccl_route route_of(const void *address)
{
	struct nccl_route route = { nothing_there(), false };
	struct resolve_range caller = resolve_range_of(address);
	void *found[NCCL_COUNT], *own;
	int saved_errno = errno;
	bool any;

	/* In ours: libnccl, which we had called, went on to another of its calls by a jump. */
	if (nccl_inside && is_ours(&caller))
		return (struct nccl_route){ nccl_inside, true };
	own = handle_of(&caller);
	any = look_all(found, true, own) || look_anywhere(found);
	if (any) {
		struct nccl_copy *copy = copy_of(found);

		if (copy) {
			route = (struct nccl_route){ copy, !is_recorded(copy) || is_library(&caller, own) };
			remember(&caller, &route);
		}
	}
	if (own)
		glibc_dlclose(own);
	errno = saved_errno;
	return route;
}

struct nccl_route nccl_route_group(const void *address)
{
	struct nccl_route route;

	return known_caller((uintptr_t)address, &route) ? route : route_of(address);
}

struct nccl_route nccl_route(ncclComm_t comm, const void *address)
{
	struct nccl_copy *made_by;
	struct nccl_route route;

	if (!comm && !nccl_inside)
		look_over_callers();
	route = nccl_route_group(address);
	if (comm && !route.itself && __atomic_load_n(&n_copies, __ATOMIC_RELAXED) > 1) {
		made_by = nccl_comm_copy(comm);
		route.copy = made_by ? made_by : route.copy;
	}
	return route;
}

/* ---- dlsym ---------------------------------------------------------------------------------------------------------- */

enum nccl_id nccl_id_of(const char *name)
{
	unsigned i = 0;

	while (i < NCCL_COUNT && strcmp(nccl_hooks[i].name, name) != 0)
		i++;
	return i;
}

static struct nccl_copy *copy_with(const void *p, enum nccl_id id)
{
	uint32_t n = __atomic_load_n(&n_copies, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n; i++)
		if (nccl_copies[i].at[id] == p)
			return &nccl_copies[i];
	return NULL;
}

void *nccl_bind(void *p, enum nccl_id id)
{
	struct nccl_copy *copy = copy_with(p, id);
	int saved_errno = errno;

	if (!copy) {
		void *found[NCCL_COUNT];
		struct resolve_range object = resolve_range_of(p);
		void *own = handle_of(&object);

		if (own && look_all(found, false, own) && found[id] == p)
			copy = copy_of(found);
		if (own)
			glibc_dlclose(own);
	}
	errno = saved_errno;
	return copy && is_recorded(copy) ? nccl_hooks[id].bound[copy->index] : p;
}

void *nccl_find_default(enum nccl_id id, const void *caller)
{
	struct resolve_range object = resolve_range_of(caller);
	void *p = look(RTLD_NEXT, id), *own = p ? NULL : handle_of(&object);

	if (own)
		p = look(own, id);
	if (own)
		glibc_dlclose(own);
	return p;
}

void nccl_copies_forget(void)
{
	adding = 0;
	for (unsigned i = 0; i < NCCL_COPIES; i++)
		nccl_copies[i].named = 0;
	for (unsigned i = 0; i < CALLERS; i++)
		if (callers[i].turn % 2) { /* another thread was at it when this process was forked off */
			callers[i].end = 0;
			callers[i].turn++;
		}
}
