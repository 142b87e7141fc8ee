/* SPDX-License-Identifier: BSD-2-Clause */
/* A treap: a tree by address that random priorities keep in balance (Seidel and Aragon, "Randomized Search Trees", 1996). Each node knows
 * the largest free piece below it. Nobody can know the priorities before: a trace whose addresses follow them would make a list of it, on which
 * what recurses here overflows the stack. */
#include "memory_map.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

struct memory_node {
	struct memory_piece piece;
	uint64_t largest; /* of the free ones in this subtree */
	uint32_t priority;
	struct memory_node *left, *right;
};

static uint64_t end_of(const struct memory_piece *p)
{
	return p->address + p->bytes;
}

/* ---- the tree ------------------------------------------------------------------------------------------------------- */

static void update(struct memory_node *n)
{
	n->largest = n->piece.state == MEMORY_FREE ? n->piece.bytes : 0;
	if (n->left && n->left->largest > n->largest)
		n->largest = n->left->largest;
	if (n->right && n->right->largest > n->largest)
		n->largest = n->right->largest;
}

/* Those before the address and the others. */
static void split(struct memory_node *n, uint64_t address, struct memory_node **before, struct memory_node **behind)
{
	if (!n) {
		*before = *behind = NULL;
		return;
	}
	if (n->piece.address < address) {
		split(n->right, address, &n->right, behind);
		*before = n;
	} else {
		split(n->left, address, before, &n->left);
		*behind = n;
	}
	update(n);
}

static struct memory_node *join(struct memory_node *before, struct memory_node *behind)
{
	if (!before || !behind)
		return before ? before : behind;
	if (before->priority > behind->priority) {
		before->right = join(before->right, behind);
		update(before);
		return before;
	}
	behind->left = join(before, behind->left);
	update(behind);
	return behind;
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

/* There is no piece at its addresses. */
static bool insert(struct memory_map *m, const struct memory_piece *piece)
{
	struct memory_node *n = node_new(m), *before, *behind;

	if (!n)
		return false;
	n->piece = *piece;
	update(n);
	split(m->root, piece->address, &before, &behind);
	m->root = join(join(before, n), behind);
	m->pieces++;
	m->held += piece->bytes;
	m->used += piece->state == MEMORY_FREE ? 0 : piece->bytes;
	return true;
}

/* The piece that begins there. */
static void erase(struct memory_map *m, uint64_t address)
{
	struct memory_node *before, *n, *behind;

	split(m->root, address, &before, &n);
	split(n, address + 1, &n, &behind);
	if (n) {
		m->pieces--;
		m->held -= n->piece.bytes;
		m->used -= n->piece.state == MEMORY_FREE ? 0 : n->piece.bytes;
		n->right = m->unused;
		m->unused = n;
	}
	m->root = join(before, behind);
}

static const struct memory_node *last_before(const struct memory_map *m, uint64_t address)
{
	const struct memory_node *found = NULL;

	for (const struct memory_node *n = m->root; n;) {
		if (n->piece.address < address) {
			found = n;
			n = n->right;
		} else {
			n = n->left;
		}
	}
	return found;
}

static const struct memory_node *first_from(const struct memory_map *m, uint64_t address)
{
	const struct memory_node *found = NULL;

	for (const struct memory_node *n = m->root; n;) {
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
	const struct memory_node *n = last_before(m, piece.address);

	if (n && joins(&n->piece, &piece)) {
		piece.address = n->piece.address;
		piece.bytes += n->piece.bytes;
		erase(m, n->piece.address);
	}
	n = first_from(m, piece.address + 1);
	if (n && joins(&piece, &n->piece)) {
		piece.bytes += n->piece.bytes;
		erase(m, n->piece.address);
	}
	return insert(m, &piece);
}

/* No piece reaches across the address. */
static bool cut(struct memory_map *m, uint64_t address)
{
	const struct memory_node *n = last_before(m, address);
	struct memory_piece low, high;

	if (!n || end_of(&n->piece) <= address)
		return true;
	low = high = n->piece;
	low.bytes = address - low.address;
	high.address = address;
	high.bytes -= low.bytes;
	erase(m, low.address);
	return insert(m, &low) && insert(m, &high);
}

bool memory_map_remove(struct memory_map *m, uint64_t address, uint64_t bytes)
{
	uint64_t end = address + bounded(address, bytes);
	const struct memory_node *n;

	if (end == address)
		return true;
	if (!cut(m, address) || !cut(m, end))
		return false;
	while ((n = first_from(m, address)) && n->piece.address < end)
		erase(m, n->piece.address);
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

bool memory_map_set(struct memory_map *m, uint64_t address, uint64_t bytes, enum memory_state state)
{
	uint64_t end = address + bounded(address, bytes);
	struct memory_piece p;

	if (end == address)
		return true;
	if (!cut(m, address) || !cut(m, end))
		return false;
	for (uint64_t at = address; memory_map_next(m, at, &p) && p.address < end;) {
		at = end_of(&p);
		erase(m, p.address);
		p.state = (uint8_t)state;
		if (!insert_joined(m, p))
			return false;
	}
	/* what cutting took apart */
	for (unsigned i = 0; i < 2; i++) {
		const struct memory_node *n = last_before(m, i ? end : address),
					 *next = first_from(m, i ? end : address);

		if (n && next && joins(&n->piece, &next->piece)) {
			p = n->piece;
			erase(m, p.address);
			if (!insert_joined(m, p))
				return false;
		}
	}
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

uint64_t memory_map_largest(const struct memory_map *m)
{
	return m->root ? m->root->largest : 0;
}

/* By address: of equal ones the first is kept, whatever the tree's shape. */
static void look_through(const struct memory_node *n, enum memory_source source, uint64_t owner,
			 struct memory_piece *out)
{
	if (!n || n->largest <= out->bytes)
		return;
	look_through(n->left, source, owner, out);
	if (n->piece.state == MEMORY_FREE && n->piece.source == source && n->piece.owner == owner &&
	    n->piece.bytes > out->bytes)
		*out = n->piece;
	look_through(n->right, source, owner, out);
}

bool memory_map_largest_of(const struct memory_map *m, enum memory_source source, uint64_t owner,
			   struct memory_piece *out)
{
	*out = (struct memory_piece){ .bytes = 0 };
	look_through(m->root, source, owner, out);
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
