/* SPDX-License-Identifier: BSD-2-Clause */
#include "host_names.h"

#include <stdlib.h>
#include <string.h>

/* Beyond these all are forgotten at once: a program may open millions of files, and the collector is to stay small. */
#define NAMES_MAX 65536u
#define TEXT_MAX (8u << 20)
#define PLACES (2 * NAMES_MAX) /* a power of two */

struct name {
	char *text; /* NULL: a free place */
	uint32_t length, id;
	uint64_t last; /* number of the segment it was last asked for in */
};

struct host_names {
	struct name *at; /* open addressing; what is taken out is closed up */
	uint32_t used;
	uint64_t bytes;
	uint32_t next_id;
	uint32_t known_from; /* of smaller ids it is not known any more who needs them */
	uint32_t last_id, last_place;
};

struct host_names *host_names_new(void)
{
	struct host_names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->at = calloc(PLACES, sizeof(n->at[0]));
	if (!n->at) {
		free(n);
		return NULL;
	}
	n->next_id = n->known_from = 1;
	return n;
}

static void forget_all(struct host_names *n)
{
	for (uint32_t i = 0; i < PLACES; i++)
		free(n->at[i].text);
	memset(n->at, 0, PLACES * sizeof(n->at[0]));
	n->used = 0;
	n->bytes = 0;
	n->known_from = n->next_id;
	n->last_id = 0;
}

void host_names_free(struct host_names *n)
{
	if (!n)
		return;
	forget_all(n);
	free(n->at);
	free(n);
}

static uint32_t home_of(const char *text, uint32_t length)
{
	uint32_t h = 0x811c9dc5u; /* FNV-1a */

	for (uint32_t i = 0; i < length; i++)
		h = (h ^ (uint8_t)text[i]) * 0x01000193u;
	return (h ^ h >> 15) % PLACES;
}

/* Where it is, or where it would go. */
static uint32_t place_of(const struct host_names *n, const char *text, uint32_t length)
{
	uint32_t i = home_of(text, length);

	while (n->at[i].text && (n->at[i].length != length || memcmp(n->at[i].text, text, length) != 0))
		i = (i + 1) % PLACES;
	return i;
}

static void asked_for(struct host_names *n, uint32_t place, uint64_t seq)
{
	n->at[place].last = seq;
	n->last_id = n->at[place].id;
	n->last_place = place;
}

uint32_t host_names_find(struct host_names *n, const char *text, uint32_t length, uint64_t seq)
{
	uint32_t place = place_of(n, text, length);

	if (!n->at[place].text)
		return 0;
	asked_for(n, place, seq);
	return n->at[place].id;
}

uint32_t host_names_add(struct host_names *n, const char *text, uint32_t length, uint64_t seq)
{
	struct name name = { .text = malloc(length + 1), .length = length };
	uint32_t place;

	if (!name.text)
		return 0;
	if (n->used >= NAMES_MAX || n->bytes + length > TEXT_MAX)
		forget_all(n);
	memcpy(name.text, text, length);
	name.id = n->next_id++;
	place = place_of(n, text, length);
	n->at[place] = name;
	n->used++;
	n->bytes += length;
	asked_for(n, place, seq);
	return name.id;
}

void host_names_next(struct host_names *n, uint64_t seq)
{
	if (n->last_id && n->at[n->last_place].text && n->at[n->last_place].id == n->last_id)
		n->at[n->last_place].last = seq;
}

/* Those behind it that it kept from their homes move up. */
static void take_out(struct host_names *n, uint32_t place)
{
	uint32_t hole = place;

	n->used--;
	n->bytes -= n->at[place].length;
	free(n->at[place].text);
	for (uint32_t i = (place + 1) % PLACES; n->at[i].text; i = (i + 1) % PLACES) {
		uint32_t home = home_of(n->at[i].text, n->at[i].length);

		if ((i - home) % PLACES < (i - hole) % PLACES)
			continue;
		n->at[hole] = n->at[i];
		if (n->last_id == n->at[hole].id)
			n->last_place = hole;
		hole = i;
	}
	n->at[hole] = (struct name){ 0 };
}

bool host_names_needs(struct host_names *n, uint32_t id, const char *text, uint32_t length, uint64_t seq)
{
	uint32_t place = place_of(n, text, length);

	if (!n->at[place].text || n->at[place].id != id)
		return id < n->known_from;
	if (n->at[place].last > seq)
		return true;
	take_out(n, place);
	return false;
}

void host_names_forget(struct host_names *n, uint32_t id, const char *text, uint32_t length)
{
	uint32_t place = place_of(n, text, length);

	if (n->at[place].text && n->at[place].id == id)
		take_out(n, place);
}
