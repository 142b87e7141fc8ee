/* SPDX-License-Identifier: BSD-2-Clause */
/* html_flame.c: idle time as a tree: devices, the frames of their submitting threads' stacks from the outermost in, and at the ends the causes,
 * which have the time. Their sum is the devices' idle time, exactly. */
#include "html.h"

#include <stdlib.h>

#include "html_pack.h"
#include "summary/idle_stacks.h"
#include "tools/alloc.h"
#include "tools/ns.h"

#define MOST_NODES \
	60000 /* what more stacks have is in "(other stacks)" of their device: they are those with the least time */

enum node_kind {             /* u8 in the page */
		 NODE_OTHER, /* the root, a device, or a frame that is not the user's own code */
		 NODE_OWN,   /* a frame of the user's own code */
		 NODE_CLASS, /* from here on: a cause, by its class */
};

struct node {
	uint32_t parent, name; /* index of a node before it; number of a string */
	uint32_t next;         /* of one hash, 0 none */
	int64_t ns;            /* its own, only a cause has any; */
	int64_t longest_ns;    /* … of it in one gap */
	size_t gap;            /* that gap's number */
	uint8_t kind;
};

struct tree {
	struct html *h;
	struct node *at;
	size_t n, cap;
	uint32_t *first;         /* of a hash, 0 none: the root is nobody's child */
	size_t stacks, left_out; /* there are, but for time without one; of these not in the tree */
};

#define HASHES 65536

static size_t hash(uint32_t parent, uint32_t name, uint8_t kind)
{
	uint64_t h = ((uint64_t)parent << 32 | name) * 0x9e3779b97f4a7c15u + kind;

	return (size_t)((h ^ h >> 29) * 0xbf58476d1ce4e5b9u >> 48) % HASHES;
}

/* 0: there is no such child. */
static uint32_t find(const struct tree *t, uint32_t parent, uint32_t name, uint8_t kind)
{
	uint32_t i = t->first[hash(parent, name, kind)];

	while (i && (t->at[i].parent != parent || t->at[i].name != name || t->at[i].kind != kind))
		i = t->at[i].next;
	return i;
}

/* Made where it is new. 0: no memory. */
static uint32_t child(struct tree *t, uint32_t parent, uint32_t name, uint8_t kind)
{
	uint32_t *first = &t->first[hash(parent, name, kind)], found = find(t, parent, name, kind);

	if (found)
		return found;
	if (!array_room(t->at, t->n, t->cap))
		return 0;
	t->at[t->n] = (struct node){ .parent = parent, .name = name, .kind = kind, .next = *first };
	*first = (uint32_t)t->n;
	return (uint32_t)t->n++;
}

static uint8_t kind_of(const struct frame *f)
{
	return f && f->own ? NODE_OWN : NODE_OTHER;
}

/* The same, where there is room for one more, or it is there already. */
static uint32_t child_if_room(struct tree *t, uint32_t parent, uint32_t name, uint8_t kind)
{
	return t->n < MOST_NODES ? child(t, parent, name, kind) : find(t, parent, name, kind);
}

static uint32_t cause_string(struct tree *t, const struct idle_stack *l)
{
	return html_string(&t->h->strings, cause_name((enum cause_id)l->cause));
}

static uint8_t cause_kind(const struct idle_stack *l)
{
	return (uint8_t)(NODE_CLASS + html_cause((enum cause_id)l->cause));
}

/* The node of its cause; 0: no memory, or no room. */
static uint32_t walk(struct tree *t, uint32_t device, const struct idle_stack *l)
{
	size_t n = idle_stack_frames(l);
	const struct frame *frame;
	char buf[IDLE_FRAME];
	uint32_t at = device;

	for (size_t i = 0; at && i < n; i++) {
		uint32_t name = html_string(&t->h->strings, idle_stack_frame(buf, l, i, &frame));

		at = child_if_room(t, at, name, kind_of(frame));
	}
	return at ? child_if_room(t, at, cause_string(t, l), cause_kind(l)) : 0;
}

static bool add(struct tree *t, const struct idle_stack *l)
{
	char name[32];
	uint32_t device, at;

	snprintf(name, sizeof(name), "device %u", t->h->s->devices[l->device].number);
	device = child(t, 0, html_string(&t->h->strings, name), NODE_OTHER);
	at = device ? walk(t, device, l) : 0;
	if (device && !at && t->n >= MOST_NODES) {
		t->left_out++;
		at = child(t, device, html_string(&t->h->strings, "(other stacks)"), NODE_OTHER);
		at = at ? child(t, at, cause_string(t, l), cause_kind(l)) : 0;
	}
	if (!at)
		return false;
	t->at[at].ns = sum64(t->at[at].ns, l->ns);
	if (l->longest_ns > t->at[at].longest_ns) {
		t->at[at].longest_ns = l->longest_ns;
		t->at[at].gap = l->gap;
	}
	t->stacks += l->process != 0;
	return true;
}

enum column { PARENT, NAME, NS, LONGEST, GAP, KIND, COLUMNS };

static uint64_t value(const struct tree *t, size_t i, enum column which)
{
	const struct node *n = &t->at[i];

	switch (which) {
	case PARENT:
		return i - n->parent;
	case NAME:
		return n->name;
	case NS:
		return (uint64_t)n->ns;
	case LONGEST:
		return (uint64_t)n->longest_ns;
	case GAP:
		return n->longest_ns ? n->gap + 1 : 0;
	default:
		return n->kind;
	}
}

static enum err_kind write_tree(const struct tree *t, struct json *j, struct error *e)
{
	static const struct {
		const char *key;
		enum pack_type type;
	} columns[COLUMNS] = {
		[PARENT] = { "p", PACK_VARINT },  [NAME] = { "s", PACK_VARINT }, [NS] = { "v", PACK_VARINT },
		[LONGEST] = { "m", PACK_VARINT }, [GAP] = { "g", PACK_VARINT },  [KIND] = { "k", PACK_U8 },
	};
	enum err_kind kind = ERR_NONE;

	json_key_map(j, "flame");
	json_key_int(j, "n", (int64_t)t->n);
	json_key_int(j, "classes_from", NODE_CLASS);
	json_key_int(j, "stacks", (int64_t)t->stacks);
	json_key_int(j, "left_out", (int64_t)t->left_out);
	for (enum column which = 0; !kind && which < COLUMNS; which++) {
		struct pack p;

		pack_begin(&p, columns[which].type);
		for (size_t i = 0; i < t->n; i++)
			pack_add(&p, value(t, i, which));
		json_key(j, columns[which].key);
		kind = pack_end(&p, j, e);
	}
	json_map_end(j);
	return kind;
}

static int by_ns(const void *a, const void *b)
{
	const struct idle_stack *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (x->device > y->device) - (x->device < y->device);
}

/* Of those with as much time each, which come first decides only what is left out. */
enum err_kind html_flame(struct html *h, struct error *e)
{
	struct tree t = { .h = h, .first = array_new(HASHES, sizeof(*t.first)) };
	size_t n = 0;
	struct idle_stack *list = idle_stacks_build(h->s, &n);
	bool ok = t.first && list && array_room(t.at, t.n, t.cap);
	enum err_kind kind;

	if (ok) {
		array_sort(list, n, sizeof(*list), by_ns);
		t.at[t.n++] = (struct node){ 0 };
	}
	for (size_t i = 0; ok && i < n; i++)
		ok = add(&t, &list[i]);
	kind = ok ? write_tree(&t, &h->json, e) : err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	free(t.at);
	free(t.first);
	free(list);
	return kind;
}
