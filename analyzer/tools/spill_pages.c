/* SPDX-License-Identifier: BSD-2-Clause */
#include "spill_pages.h"

#include "pool.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define KEEP ((size_t)256 << 20)
#define KEEP_FROM   \
	((size_t)32 \
	 << 20) /* in use: what is kept was a tenth of the memory that a small trace took, and never used again */
#define PART ((size_t)4 << 20) /* is made ready by one thread */
#define ROOM ((size_t)1 << 30) /* addresses, not memory */
#define OPEN ((size_t)16 << 20)
#define CUT ((size_t)1 << 20) /* what is left over goes with the rest, if it is less */

static struct pages spares[PAGES_SPARES]; /* at NULL: free */
static size_t kept, in_use;               /* bytes */
static uint32_t origins;

static size_t whole_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

/* ---- made ready ------------------------------------------------------------------------------------------ */

/* Taking pages all at once costs a third less than a fault for each. Where the kernel cannot (before 5.14) they come one by one. */
void pages_take(const void *at, size_t bytes)
{
	size_t before = (uintptr_t)at % (size_t)sysconf(_SC_PAGESIZE);

	madvise((char *)at - before, before + bytes, MADV_POPULATE_WRITE);
}

static enum err_kind ready_part(void *of, size_t part, struct error *e)
{
	const struct pages_fresh *fresh = of;
	size_t first = part * PART, bytes = fresh->bytes - first < PART ? fresh->bytes - first : PART;

	(void)e;
	if (fresh->zero)
		memset(fresh->at + first, 0, bytes);
	else
		pages_take(fresh->at + first, bytes);
	return ERR_NONE;
}

void pages_ready(const struct pages_fresh *fresh)
{
	if (fresh->bytes)
		pool_run((fresh->bytes + PART - 1) / PART, ready_part, (void *)fresh, NULL);
}

/* ---- given back ------------------------------------------------------------------------------------------ */

static enum err_kind drop_part(void *of, size_t part, struct error *e)
{
	const struct pages_gone *gone = of;
	size_t first = part * PART, bytes = gone->bytes - first < PART ? gone->bytes - first : PART;

	(void)e;
	madvise(gone->at + first, bytes, MADV_DONTNEED);
	return ERR_NONE;
}

/* The kernel takes a while for each page, and the process's end would too, on one CPU. */
void pages_drop(struct pages_gone gone)
{
	if (gone.at && gone.bytes >= 2 * PART)
		pool_run((gone.bytes + PART - 1) / PART, drop_part, &gone, NULL);
	if (gone.at)
		munmap(gone.at, gone.bytes);
}

/* ---- what is kept --------------------------------------------------------------------------------------- */

static struct pages *free_slot(void)
{
	for (size_t i = 0; i < PAGES_SPARES; i++)
		if (!spares[i].at)
			return &spares[i];
	return NULL;
}

/* The smallest that is large enough. */
static struct pages *best(size_t bytes)
{
	struct pages *found = NULL;

	for (size_t i = 0; i < PAGES_SPARES; i++)
		if (spares[i].at && spares[i].bytes >= bytes && (!found || spares[i].bytes < found->bytes))
			found = &spares[i];
	return found;
}

static struct pages *right_behind(const struct pages *p)
{
	for (size_t i = 0; i < PAGES_SPARES; i++)
		if (spares[i].at && spares[i].at == p->at + p->bytes && spares[i].origin == p->origin)
			return &spares[i];
	return NULL;
}

/* The first so many bytes of what is kept there, or all of it where the rest would be too small. */
static size_t take_kept(struct pages *spare, size_t bytes)
{
	size_t taken = spare->bytes - bytes < CUT ? spare->bytes : bytes;

	kept -= taken;
	spare->at = taken == spare->bytes ? NULL : spare->at + taken;
	spare->bytes -= taken;
	return taken;
}

/* Neighbours that the kernel knows as one are one. */
static struct pages *left_of(const struct pages *p)
{
	for (size_t i = 0; i < PAGES_SPARES; i++)
		if (spares[i].at && spares[i].at + spares[i].bytes == p->at && spares[i].origin == p->origin)
			return &spares[i];
	return NULL;
}

static bool keep(const struct pages *p)
{
	struct pages *left = left_of(p), *right = right_behind(p), *slot = left ? left : right ? right : free_slot();

	if (!slot || kept + p->bytes > KEEP || in_use < KEEP_FROM)
		return false;
	kept += p->bytes;
	if (left && right) {
		left->bytes += p->bytes + right->bytes;
		*right = (struct pages){ .at = NULL };
	} else if (left) {
		left->bytes += p->bytes;
	} else if (right) {
		right->at = p->at;
		right->bytes += p->bytes;
	} else {
		*slot = *p;
	}
	return true;
}

/* None that is kept is large enough: new ones take the place of as many. */
static void make_way(size_t bytes)
{
	for (size_t i = 0; i < PAGES_SPARES && bytes; i++) {
		size_t n = spares[i].bytes < bytes ? spares[i].bytes : bytes;

		if (!spares[i].at)
			continue;
		munmap(spares[i].at + spares[i].bytes - n, n);
		spares[i].bytes -= n;
		kept -= n;
		bytes -= n;
		if (!spares[i].bytes)
			spares[i].at = NULL;
	}
}

/* ---- pages ---------------------------------------------------------------------------------------------- */

/* Where they are counted, others need them. */
static bool addresses_are_free(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

/* What grows has addresses to grow into: to move memory, each thread that runs has to be interrupted. */
static bool map(struct pages *p, size_t bytes, bool grows)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *at = grows && addresses_are_free() ? mmap(NULL, bytes + ROOM, PROT_NONE, flags, -1, 0) : MAP_FAILED;
	size_t room = at == MAP_FAILED ? 0 : ROOM;

	if (room && mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0) {
		munmap(at, bytes + room);
		at = MAP_FAILED;
	}
	if (at == MAP_FAILED) {
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
		room = 0;
	}
	*p = (struct pages){ .at = at, .bytes = bytes, .room = room, .origin = ++origins };
	return at != MAP_FAILED;
}

static void give_back_room(struct pages *p)
{
	if (p->room)
		munmap(p->at + p->bytes, p->room);
	p->room = p->open = 0;
}

static bool get(struct pages *p, size_t bytes, bool grows, struct pages_fresh *fresh)
{
	struct pages *spare;

	bytes = whole_pages(bytes);
	spare = best(bytes);
	if (spare) {
		*p = *spare;
		p->bytes = take_kept(spare, bytes);
		*fresh = (struct pages_fresh){ p->at, p->bytes, true };
		return true;
	}
	make_way(bytes);
	if (!map(p, bytes, grows))
		return false;
	*fresh = (struct pages_fresh){ p->at, bytes, false };
	return true;
}

bool pages_new(struct pages *p, size_t bytes, bool grows, struct pages_fresh *fresh)
{
	bool ok = get(p, bytes, grows, fresh);

	in_use += ok ? p->bytes : 0;
	return ok;
}

/* Many at a time: whoever takes pages meanwhile is waited for. */
static bool open_room(struct pages *p, size_t want)
{
	size_t open = want > OPEN ? want : OPEN < p->room ? OPEN : p->room;

	if (want > p->room)
		return false;
	if (mprotect(p->at + p->bytes, open, PROT_READ | PROT_WRITE) != 0) {
		open = want; /* so much there may be */
		if (mprotect(p->at + p->bytes, open, PROT_READ | PROT_WRITE) != 0)
			return false;
	}
	p->open = open;
	return true;
}

static bool grow_into_room(struct pages *p, size_t more)
{
	if (more > p->open && !open_room(p, more))
		return false;
	p->bytes += more;
	p->room -= more;
	p->open -= more;
	return true;
}

/* The kernel moves what it knows as one mapping, and has reasons of its own to know it as two. */
static bool copy_to(struct pages *p, size_t bytes)
{
	struct pages to;

	if (!map(&to, bytes, true))
		return false;
	memcpy(to.at, p->at, p->bytes);
	munmap(p->at, p->bytes);
	*p = to;
	return true;
}

static bool move(struct pages *p, size_t bytes)
{
	char *at;

	give_back_room(p);
	at = mremap(p->at, p->bytes, bytes, MREMAP_MAYMOVE);
	if (at == MAP_FAILED)
		return errno == EFAULT && copy_to(p, bytes);
	*p = (struct pages){ .at = at, .bytes = bytes, .origin = at == p->at ? p->origin : ++origins };
	return true;
}

static bool grow(struct pages *p, size_t bytes, struct pages_fresh *fresh)
{
	struct pages *spare = right_behind(p);
	size_t before;

	bytes = whole_pages(bytes);
	if (spare && bytes > p->bytes)
		p->bytes += take_kept(spare, bytes - p->bytes < spare->bytes ? bytes - p->bytes : spare->bytes);
	if (bytes <= p->bytes)
		return true;
	before = p->bytes;
	if (!grow_into_room(p, bytes - before) && !move(p, bytes))
		return false;
	*fresh = (struct pages_fresh){ p->at + before, bytes - before, false };
	return true;
}

bool pages_grow(struct pages *p, size_t bytes, struct pages_fresh *fresh)
{
	size_t before = p->bytes;
	bool ok = grow(p, bytes, fresh);

	in_use += p->bytes - before;
	return ok;
}

struct pages_gone pages_free(struct pages *p)
{
	struct pages_gone gone = { 0 };

	give_back_room(p);
	if (!keep(p))
		gone = (struct pages_gone){ p->at, p->bytes };
	in_use -= p->bytes;
	*p = (struct pages){ .at = NULL };
	return gone;
}

void pages_forget(void)
{
	memset(spares, 0, sizeof(spares));
	kept = 0;
}

uint64_t pages_kept(void)
{
	return kept;
}

size_t pages_leave(struct pages_gone gone[PAGES_SPARES])
{
	size_t n = 0;

	for (size_t i = 0; i < PAGES_SPARES; i++)
		if (spares[i].at)
			gone[n++] = (struct pages_gone){ spares[i].at, spares[i].bytes };
	pages_forget();
	return n;
}

static enum err_kind drop_one(void *gone, size_t i, struct error *e)
{
	(void)e;
	pages_drop(((struct pages_gone *)gone)[i]);
	return ERR_NONE;
}

void pages_drop_all(struct pages_gone *gone, size_t n)
{
	pool_run(n, drop_one, gone, NULL);
}

void pages_give_back(void)
{
	struct pages_gone gone[PAGES_SPARES];
	size_t n = pages_leave(gone);

	for (size_t i = 0; i < n; i++)
		munmap(gone[i].at, gone[i].bytes);
}

void pages_advise_kept(int advice)
{
	for (size_t i = 0; i < PAGES_SPARES; i++)
		if (spares[i].at)
			madvise(spares[i].at, spares[i].bytes, advice);
}
