/* SPDX-License-Identifier: BSD-2-Clause */
/* A treap: a tree by address that random priorities keep in balance (Seidel and Aragon, "Randomized Search Trees", 1996). Nobody can know the
 * priorities before: a trace whose addresses follow them would make a list of it. Free pieces stand in lists besides, by the power of two that their size
 * lies above: the largest is in the last one, and known until it changes. */
#include "memory_map.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

struct memory_node {
	struct memory_piece piece;
	struct memory_node *left, *right, *above;
	struct memory_node *before_free, *next_free; /* in its list, if it is free */
	uint32_t priority;
};

static uint64_t end_of(const struct memory_piece *p)
{
	return p->address + p->bytes;
}

/* ---- free ones ------------------------------------------------------------------------------------------------------- */

static unsigned list_of(const struct memory_node *n)
{
	return n->piece.bytes ? 63u - (unsigned)__builtin_clzll(n->piece.bytes) : 0;
}

/* It is free now, or has another size. */
static void enter_free(struct memory_map *m, struct memory_node *n)
{
	unsigned list = list_of(n);

	if (n->piece.state != MEMORY_FREE)
		return;
	n->before_free = NULL;
	n->next_free = m->free[list];
	if (n->next_free)
		n->next_free->before_free = n;
	m->free[list] = n;
	m->lists |= 1ull << list;
	if (m->largest && n->piece.bytes > m->largest->piece.bytes)
		m->largest = n;
}

/* It is to be no free one, or of another size. */
static void leave_free(struct memory_map *m, struct memory_node *n)
{
	unsigned list = list_of(n);

	if (n->piece.state != MEMORY_FREE)
		return;
	if (n->next_free)
		n->next_free->before_free = n->before_free;
	if (n->before_free)
		n->before_free->next_free = n->next_free;
	else
		m->free[list] = n->next_free;
	if (!m->free[list])
		m->lists &= ~(1ull << list);
	if (m->largest == n)
		m->largest = NULL;
}

uint64_t memory_map_largest(struct memory_map *m)
{
	if (!m->lists)
		return 0;
	if (!m->largest) {
		struct memory_node *n = m->free[63 - __builtin_clzll(m->lists)];

		for (m->largest = n; n; n = n->next_free)
			if (n->piece.bytes > m->largest->piece.bytes)
				m->largest = n;
	}
	return m->largest->piece.bytes;
}

/* ---- the tree ------------------------------------------------------------------------------------------------------- */

/* Whatever points to `old` from above points to n. */
static void replace(struct memory_map *m, const struct memory_node *old, struct memory_node *n)
{
	if (!old->above)
		m->root = n;
	else if (old->above->left == old)
		old->above->left = n;
	else
		old->above->right = n;
	if (n)
		n->above = old->above;
}

/* The node takes the place of the one above it. */
static void rise(struct memory_map *m, struct memory_node *n)
{
	struct memory_node *down = n->above, *between = down->left == n ? n->right : n->left;

	replace(m, down, n);
	if (down->left == n) {
		down->left = between;
		n->right = down;
	} else {
		down->right = between;
		n->left = down;
	}
	if (between)
		between->above = down;
	down->above = n;
}

static struct memory_node *first_below(struct memory_node *n)
{
	while (n->left)
		n = n->left;
	return n;
}

static struct memory_node *last_below(struct memory_node *n)
{
	while (n->right)
		n = n->right;
	return n;
}

static struct memory_node *next_of(struct memory_node *n)
{
	if (n->right)
		return first_below(n->right);
	while (n->above && n->above->right == n)
		n = n->above;
	return n->above;
}

static struct memory_node *before_of(struct memory_node *n)
{
	if (n->left)
		return last_below(n->left);
	while (n->above && n->above->left == n)
		n = n->above;
	return n->above;
}

/* What no trace can know. */
static uint64_t secret(const struct memory_map *m)
{
	struct timespec now = { 0 };
	uint64_t bits;

	if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) == sizeof(bits))
		return bits;
	clock_gettime(CLOCK_MONOTONIC, &now); /* early in the machine's life */
	return (uint64_t)now.tv_nsec << 32 ^ (uint64_t)(uintptr_t)m;
}

/* The next of a sequence (splitmix64). */
static uint32_t priority(struct memory_map *m)
{
	uint64_t bits = m->random += 0x9e3779b97f4a7c15u;

	bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
	bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)(bits >> 32);
}

static struct memory_node *node_new(struct memory_map *m)
{
	struct memory_node *n = m->unused;

	if (n)
		m->unused = n->right;
	else
		n = malloc(sizeof(*n));
	if (!n)
		return NULL;
	if (!m->random)
		m->random = secret(m);
	*n = (struct memory_node){ .priority = priority(m) };
	return n;
}

/* Right behind `before`; NULL: before all. */
static void put_behind(struct memory_map *m, struct memory_node *before, struct memory_node *n)
{
	struct memory_node *above = before;

	if (before ? before->right : m->root) {
		above = first_below(before ? before->right : m->root);
		above->left = n;
	} else if (before) {
		before->right = n;
	} else {
		m->root = n;
	}
	n->above = above;
	while (n->above && n->above->priority < n->priority)
		rise(m, n);
}

/* There is no piece at its addresses; before: the last piece before it, NULL none. NULL: no memory. */
static struct memory_node *insert(struct memory_map *m, struct memory_node *before, const struct memory_piece *piece)
{
	struct memory_node *n = node_new(m);

	if (!n)
		return NULL;
	n->piece = *piece;
	put_behind(m, before, n);
	enter_free(m, n);
	m->pieces++;
	m->held += piece->bytes;
	m->used += piece->state == MEMORY_FREE ? 0 : piece->bytes;
	return n;
}

static void erase(struct memory_map *m, struct memory_node *n)
{
	while (n->left && n->right)
		rise(m, n->left->priority > n->right->priority ? n->left : n->right);
	replace(m, n, n->left ? n->left : n->right);
	leave_free(m, n);
	m->pieces--;
	m->held -= n->piece.bytes;
	m->used -= n->piece.state == MEMORY_FREE ? 0 : n->piece.bytes;
	n->left = NULL;
	n->right = m->unused;
	m->unused = n;
}

/* Where no other piece begins before the old end or the new one. */
static void change(struct memory_map *m, struct memory_node *n, uint64_t bytes, enum memory_state state)
{
	leave_free(m, n);
	m->held += bytes - n->piece.bytes;
	m->used -= n->piece.state == MEMORY_FREE ? 0 : n->piece.bytes;
	m->used += state == MEMORY_FREE ? 0 : bytes;
	n->piece.bytes = bytes;
	n->piece.state = (uint8_t)state;
	enter_free(m, n);
}

static struct memory_node *last_before(const struct memory_map *m, uint64_t address)
{
	struct memory_node *found = NULL;

	for (struct memory_node *n = m->root; n;) {
		if (n->piece.address < address) {
			found = n;
			n = n->right;
		} else {
			n = n->left;
		}
	}
	return found;
}

static struct memory_node *first_from(const struct memory_map *m, uint64_t address)
{
	struct memory_node *found = NULL;

	for (struct memory_node *n = m->root; n;) {
		if (n->piece.address >= address) {
			found = n;
			n = n->left;
		} else {
			n = n->right;
		}
	}
	return found;
}

static void free_nodes(struct memory_node *n)
{
	while (n) {
		struct memory_node *right = n->right;

		free_nodes(n->left);
		free(n);
		n = right;
	}
}

void memory_map_free(struct memory_map *m)
{
	free_nodes(m->root);
	free_nodes(m->unused);
	*m = (struct memory_map){ 0 };
}

/* ---- pieces --------------------------------------------------------------------------------------------------------- */

/* Addresses that go round come from damaged records. */
static uint64_t bounded(uint64_t address, uint64_t bytes)
{
	return bytes > UINT64_MAX - address ? UINT64_MAX - address : bytes;
}

static bool joins(const struct memory_piece *a, const struct memory_piece *b)
{
	return a->state == MEMORY_FREE && b->state == MEMORY_FREE && end_of(a) == b->address && a->owner == b->owner &&
	       a->source == b->source;
}

/* With the free pieces on either side, where they are one. */
static bool insert_joined(struct memory_map *m, struct memory_piece piece)
{
	struct memory_node *before = last_before(m, piece.address), *next = before ? next_of(before) : first_from(m, 0);

	if (next && joins(&piece, &next->piece)) {
		piece.bytes += next->piece.bytes;
		erase(m, next);
	}
	if (before && joins(&before->piece, &piece)) {
		change(m, before, before->piece.bytes + piece.bytes, MEMORY_FREE);
		return true;
	}
	return insert(m, before, &piece) != NULL;
}

/* No piece reaches across the address. */
static bool cut(struct memory_map *m, uint64_t address)
{
	struct memory_node *n = last_before(m, address);
	struct memory_piece high;

	if (!n || end_of(&n->piece) <= address)
		return true;
	high = n->piece;
	high.address = address;
	high.bytes = end_of(&n->piece) - address;
	change(m, n, address - n->piece.address, n->piece.state);
	return insert(m, n, &high) != NULL;
}

bool memory_map_remove(struct memory_map *m, uint64_t address, uint64_t bytes)
{
	uint64_t end = address + bounded(address, bytes);
	struct memory_node *n, *next;

	if (end == address)
		return true;
	if (!cut(m, address) || !cut(m, end))
		return false;
	for (n = first_from(m, address); n && n->piece.address < end; n = next) {
		next = next_of(n);
		erase(m, n);
	}
	return true;
}

bool memory_map_add(struct memory_map *m, const struct memory_piece *piece)
{
	struct memory_piece p = *piece;

	p.bytes = bounded(p.address, p.bytes);
	if (!p.bytes)
		return true;
	return memory_map_remove(m, p.address, p.bytes) && insert_joined(m, p);
}

/* A free one is made one with those that it touches. */
static void join_free(struct memory_map *m, struct memory_node *n)
{
	struct memory_node *before = before_of(n), *next = next_of(n);
	uint64_t bytes = next && joins(&n->piece, &next->piece) ? next->piece.bytes : 0;

	if (bytes)
		erase(m, next);
	bytes += n->piece.bytes;
	if (before && joins(&before->piece, &n->piece)) {
		bytes += before->piece.bytes;
		erase(m, n);
		n = before;
	}
	if (bytes != n->piece.bytes)
		change(m, n, bytes, MEMORY_FREE);
}

/* A part of one piece, or all of it. */
static bool set_within(struct memory_map *m, struct memory_node *n, uint64_t address, uint64_t end,
		       enum memory_state state)
{
	struct memory_piece part = n->piece, rest = n->piece;

	if (state == MEMORY_FREE && part.state == MEMORY_FREE)
		return true;
	rest.address = end;
	rest.bytes = end_of(&n->piece) - end;
	part.address = address;
	part.bytes = end - address;
	part.state = (uint8_t)state;
	if (address == n->piece.address) {
		change(m, n, part.bytes, state);
	} else {
		change(m, n, address - n->piece.address, n->piece.state);
		n = insert(m, n, &part);
	}
	if (!n || (rest.bytes && !insert(m, n, &rest)))
		return false;
	if (state == MEMORY_FREE)
		join_free(m, n);
	return true;
}

bool memory_map_set(struct memory_map *m, uint64_t address, uint64_t bytes, enum memory_state state)
{
	uint64_t end = address + bounded(address, bytes);
	struct memory_node *n;

	if (end == address)
		return true;
	n = last_before(m, address + 1);
	if (n && end_of(&n->piece) >= end)
		return set_within(m, n, address, end, state);
	if (!cut(m, address) || !cut(m, end))
		return false;
	for (uint64_t at = address; (n = first_from(m, at)) && n->piece.address < end;) {
		at = end_of(&n->piece);
		change(m, n, n->piece.bytes, state);
		if (state == MEMORY_FREE)
			join_free(m, n);
	}
	n = last_before(m, end); /* the last one may have been taken up before what was cut from it */
	if (n && state == MEMORY_FREE)
		join_free(m, n);
	return true;
}

bool memory_map_next(const struct memory_map *m, uint64_t address, struct memory_piece *out)
{
	const struct memory_node *n = first_from(m, address);

	if (n)
		*out = n->piece;
	return n != NULL;
}

bool memory_map_at(const struct memory_map *m, uint64_t address, struct memory_piece *out)
{
	const struct memory_node *n = address == UINT64_MAX ? NULL : last_before(m, address + 1);

	if (!n || end_of(&n->piece) <= address)
		return false;
	*out = n->piece;
	return true;
}

bool memory_map_largest_of(const struct memory_map *m, enum memory_source source, uint64_t owner,
			   struct memory_piece *out)
{
	*out = (struct memory_piece){ .bytes = 0 };
	for (unsigned list = 64; list-- > 0 && !out->bytes;) /* those of the next one are smaller */
		for (const struct memory_node *n = m->free[list]; n; n = n->next_free)
			if (n->piece.source == source && n->piece.owner == owner &&
			    (n->piece.bytes > out->bytes ||
			     (n->piece.bytes == out->bytes && n->piece.address < out->address)))
				*out = n->piece;
	return out->bytes != 0;
}

size_t memory_range_end(const struct memory_piece *pieces, size_t n, size_t first)
{
	size_t end = first + 1;

	while (end < n && end_of(&pieces[end - 1]) == pieces[end].address && pieces[end].owner == pieces[first].owner &&
	       pieces[end].source == pieces[first].source)
		end++;
	return end;
}
