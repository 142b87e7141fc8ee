/* SPDX-License-Identifier: BSD-2-Clause */
#include "import_unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import_inflate.h"

#define BUFFER ((size_t)128 << 10) /* of what is packed */

struct import_unpack {
	int fd;
	bool begun;       /* it is known whether it is packed */
	bool over;        /* no more comes, for one reason or another */
	bool member;      /* in the middle of one */
	uint64_t in, out; /* bytes that were read, and given */
	const char *damage;
	struct import_inflate *inflate; /* NULL: it is not packed */
	struct import_stream s;         /* its input lies in the buffer */
	unsigned char buffer[BUFFER];
};

enum err_kind import_unpack_open(struct import_unpack **out, const char *path, struct error *e)
{
	struct import_unpack *u = calloc(1, sizeof(*u));

	*out = NULL;
	if (!u)
		return err_set(e, ERR_SYSTEM, path, ERR_NO_BYTE, "out of memory");
	u->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (u->fd < 0) {
		free(u);
		return err_set(e, ERR_SYSTEM, path, ERR_NO_BYTE, "%s", strerror(errno));
	}
	*out = u;
	return ERR_NONE;
}

static int64_t take(struct import_unpack *u, void *to, size_t n)
{
	ssize_t got;

	do
		got = read(u->fd, to, n);
	while (got < 0 && errno == EINTR);
	u->in += got > 0 ? (uint64_t)got : 0;
	return got;
}

/* More of what is packed, behind what is left of it. How many bytes; -1 with errno. */
static int64_t refill(struct import_unpack *u)
{
	int64_t got;

	if (u->s.n_in)
		memmove(u->buffer, u->s.in, u->s.n_in);
	got = take(u, u->buffer + u->s.n_in, BUFFER - u->s.n_in);
	u->s.in = u->buffer;
	u->s.n_in += got > 0 ? (uint32_t)got : 0;
	return got;
}

/* The two bytes that a member begins with. -1: errno. */
static int at_member(struct import_unpack *u)
{
	if (u->s.n_in < 2 && refill(u) < 0)
		return -1;
	return u->s.n_in >= 2 && u->s.in[0] == 0x1f && u->s.in[1] == 0x8b;
}

static int begin(struct import_unpack *u)
{
	int member = at_member(u);

	if (member < 0)
		return -1;
	u->begun = true;
	u->member = member;
	if (!member)
		return 0;
	u->inflate = import_inflate_new();
	if (u->inflate)
		return 0;
	errno = ENOMEM;
	return -1;
}

/* Behind a member: another one, the end, or zeros up to the end as some programs fill files up. -1: errno. */
static int next_member(struct import_unpack *u)
{
	int member = at_member(u);

	if (member < 0)
		return -1;
	if (member) {
		import_inflate_again(u->inflate);
		u->member = true;
		return 0;
	}
	for (;;) {
		int64_t got;

		while (u->s.n_in && *u->s.in == 0) {
			u->s.in++;
			u->s.n_in--;
		}
		if (u->s.n_in)
			break;
		got = refill(u);
		if (got < 0)
			return -1;
		if (!got)
			break;
	}
	if (u->s.n_in)
		u->damage = "something that is not packed follows what is";
	u->over = true;
	return 0;
}

static int more_input(struct import_unpack *u)
{
	int64_t got = refill(u);

	if (got == 0) {
		u->damage = "the packed bytes end before what they hold does";
		u->over = true;
	}
	return got < 0 ? -1 : 0;
}

static int step(struct import_unpack *u)
{
	uint32_t n_in = u->s.n_in, n_out = u->s.n_out;

	if (!u->member)
		return next_member(u);
	switch (import_inflate(u->inflate, &u->s)) {
	case INFLATED_ALL:
		u->member = false;
		return 0;
	case INFLATED_SOME:
		return u->s.n_in == n_in && u->s.n_out == n_out ? more_input(u) : 0;
	case INFLATED_NO_MEMORY:
		errno = ENOMEM;
		return -1;
	default:
		u->damage = "what is packed is damaged";
		u->over = true;
		return 0;
	}
}

static void check_ratio(struct import_unpack *u)
{
	if (u->out > IMPORT_UNPACK_FREE && u->out / IMPORT_UNPACK_RATIO > u->in) {
		u->damage = "it unpacks to more than a trace would";
		u->over = true;
	}
}

static int64_t unpack(struct import_unpack *u, void *to, size_t n)
{
	u->s.out = to;
	u->s.n_out = (uint32_t)n;
	while (u->s.n_out && !u->over)
		if (step(u) < 0)
			return -1;
	u->out += n - u->s.n_out;
	check_ratio(u);
	return (int64_t)(n - u->s.n_out);
}

static int64_t as_it_is(struct import_unpack *u, void *to, size_t n)
{
	if (!u->s.n_in)
		return take(u, to, n);
	n = n < u->s.n_in ? n : u->s.n_in;
	memcpy(to, u->s.in, n);
	u->s.in += n;
	u->s.n_in -= (uint32_t)n;
	return (int64_t)n;
}

int64_t import_unpack_read(struct import_unpack *u, void *to, size_t n)
{
	if (!u->begun && begin(u) < 0)
		return -1;
	return u->inflate ? unpack(u, to, n) : as_it_is(u, to, n);
}

uint64_t import_unpack_taken(const struct import_unpack *u)
{
	return u->in;
}

bool import_unpack_packed(const struct import_unpack *u)
{
	return u->inflate != NULL;
}

const char *import_unpack_damage(const struct import_unpack *u)
{
	return u->damage;
}

void import_unpack_close(struct import_unpack *u)
{
	if (!u)
		return;
	import_inflate_free(u->inflate);
	close(u->fd);
	free(u);
}
