/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { RINGS_BYTES = 32 << 20, RING_MIN = 16 << 10, RING_MAX = 1 << 20, PATH_BYTES = 160 };

/* ---- which file ------------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t a)
{
	a = (a ^ (a >> 30)) * 0xbf58476d1ce4e5b9ull;
	a = (a ^ (a >> 27)) * 0x94d049bb133111ebull;
	return a ^ (a >> 31);
}

void rendezvous_new(struct rendezvous *id)
{
	const char *folder = getenv("TMPDIR");
	struct timespec now;

	*id = (struct rendezvous){ .magic = "STANDIN" };
	if (!folder || !*folder || strlen(folder) >= sizeof(id->folder))
		folder = "/tmp";
	strcpy(id->folder, folder);
	if (getrandom(&id->number, sizeof(id->number), 0) != sizeof(id->number)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		id->number = mix((uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 32);
	}
}

void rendezvous_derive(struct rendezvous *id, const struct rendezvous *from, uint64_t number, uint64_t color)
{
	*id = *from;
	id->number = mix(mix(from->number + number) + color + 1);
}

uint64_t rendezvous_hash(const struct rendezvous *id)
{
	return mix(id->number);
}

static void path_of(const struct rendezvous *id, char *path)
{
	snprintf(path, PATH_BYTES, "%.111s/nccl-standin-%016llx", id->folder, (unsigned long long)id->number);
}

/* ---- the mapping ----------------------------------------------------------------------------------------- */

static size_t round_up(size_t bytes)
{
	return (bytes + 4095) / 4096 * 4096;
}

static size_t members_at(void)
{
	return 4096;
}

static size_t channels_at(unsigned nranks)
{
	return members_at() + round_up(nranks * sizeof(struct member));
}

static size_t rings_at(unsigned nranks)
{
	return channels_at(nranks) + round_up((size_t)LANES * nranks * nranks * sizeof(struct channel));
}

static size_t ring_size(unsigned nranks)
{
	size_t bytes = RING_MAX;

	while (bytes > RING_MIN && bytes * LANES * nranks * nranks > RINGS_BYTES)
		bytes /= 2;
	return bytes;
}

static bool map(struct segment *s, int file, unsigned nranks)
{
	void *at;

	s->nranks = nranks;
	s->ring_bytes = ring_size(nranks);
	s->bytes = rings_at(nranks) + s->ring_bytes * LANES * nranks * nranks;
	if (ftruncate(file, (off_t)s->bytes))
		return false;
	at = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (at == MAP_FAILED)
		return false;
	s->head = at;
	return true;
}

/* Under the file's lock: the first one says how many ranks there are, and the others must say the same. */
static bool open_locked(struct segment *s, int file, unsigned nranks)
{
	unsigned known = 0;

	if (pread(file, &known, sizeof(known), 0) < 0 || (known && known != nranks))
		return false;
	if (!map(s, file, nranks))
		return false;
	atomic_store(&s->head->nranks, nranks);
	return true;
}

bool segment_open(struct segment *s, const struct rendezvous *id, unsigned nranks)
{
	char path[PATH_BYTES];
	bool opened;
	int file;

	path_of(id, path);
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file < 0)
		return false;
	opened = flock(file, LOCK_EX) == 0 && open_locked(s, file, nranks);
	flock(file, LOCK_UN); /* the mapping would hold it */
	close(file);
	return opened;
}

void segment_unlink(const struct rendezvous *id)
{
	char path[PATH_BYTES];

	path_of(id, path);
	unlink(path);
}

void segment_close(struct segment *s)
{
	if (s->head)
		munmap(s->head, s->bytes);
	s->head = NULL;
}

struct member *segment_member(const struct segment *s, unsigned rank)
{
	return (struct member *)((char *)s->head + members_at()) + rank;
}

/* ---- channels -------------------------------------------------------------------------------------------- */

static size_t channel_index(const struct segment *s, enum lane lane, unsigned from, unsigned to)
{
	return ((size_t)lane * s->nranks + from) * s->nranks + to;
}

struct channel *segment_channel(const struct segment *s, enum lane lane, unsigned from, unsigned to)
{
	return (struct channel *)((char *)s->head + channels_at(s->nranks)) + channel_index(s, lane, from, to);
}

static char *ring(const struct segment *s, enum lane lane, unsigned from, unsigned to)
{
	return (char *)s->head + rings_at(s->nranks) + s->ring_bytes * channel_index(s, lane, from, to);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t channel_write(const struct segment *s, enum lane lane, unsigned from, unsigned to, const void *data,
		     size_t bytes)
{
	struct channel *c = segment_channel(s, lane, from, to);
	uint64_t head = atomic_load_explicit(&c->head, memory_order_relaxed);
	size_t room = s->ring_bytes - (size_t)(head - atomic_load_explicit(&c->tail, memory_order_acquire));
	size_t at = head % s->ring_bytes, n = least(bytes, room), first = least(n, s->ring_bytes - at);
	char *to_ring = ring(s, lane, from, to);

	if (!n)
		return 0;
	memcpy(to_ring + at, data, first);
	memcpy(to_ring, (const char *)data + first, n - first);
	atomic_store_explicit(&c->head, head + n, memory_order_release);
	return n;
}

size_t channel_read(const struct segment *s, enum lane lane, unsigned from, unsigned to, void *data, size_t bytes)
{
	struct channel *c = segment_channel(s, lane, from, to);
	uint64_t tail = atomic_load_explicit(&c->tail, memory_order_relaxed);
	size_t there = (size_t)(atomic_load_explicit(&c->head, memory_order_acquire) - tail);
	size_t at = tail % s->ring_bytes, n = least(bytes, there), first = least(n, s->ring_bytes - at);
	const char *from_ring = ring(s, lane, from, to);

	if (!n)
		return 0; /* and perhaps no `data` */
	memcpy(data, from_ring + at, first);
	memcpy((char *)data + first, from_ring, n - first);
	atomic_store_explicit(&c->tail, tail + n, memory_order_release);
	return n;
}
