/* SPDX-License-Identifier: BSD-2-Clause */
/* ebpf_tree.c: looks at all tasks at once: who is of the tree, does any of it live, what goes on when we stop. */
#include "ebpf.h"

#include <errno.h>
#include <unistd.h>

#include "../proc_text.h"

#define CENSUS_NS 1000000000u
#define CENSUS_SHARE 1000 /* it takes no more than one part in so many of the time */
#define FIND_MOST 16

/* By a spare one where it may not be opened any more: before Linux 5.19 that needs a privilege, which has been given up. 0, or an errno. */
static int look(struct ebpf *e, enum ebpf_look what, unsigned keep)
{
	int fd = ebpf_iterator(e), rc = errno;
	char ignored[64];
	ssize_t n;

	if (fd < 0 && e->n_spare > keep) {
		fd = e->spare[--e->n_spare];
		e->census_every_ns *= 2; /* so they last for ever */
	}
	if (fd < 0)
		return rc;
	ebpf_state(e)->look = what;
	do
		n = read(fd, ignored, sizeof(ignored));
	while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	rc = n < 0 ? errno : 0;
	close(fd);
	return rc;
}

/* Twice, as a task may be born beside the look while its parent is not known yet; and again while one was only about to be. */
int ebpf_tree_find(struct ebpf *e)
{
	struct ebpf_state *state = ebpf_state(e);
	int rc = 0;

	for (unsigned i = 0; !rc && i < FIND_MOST && (i < 2 || state->unborn); i++) {
		state->unborn = 0;
		rc = look(e, LOOK_FIND, 0);
	}
	__atomic_store_n(&state->found, 1, __ATOMIC_RELEASE);
	while (!rc && e->n_spare < EBPF_SPARE) {
		e->spare[e->n_spare] = ebpf_iterator(e);
		if (e->spare[e->n_spare] < 0)
			return e->n_spare ? 0 : errno;
		e->n_spare++;
	}
	return rc;
}

void ebpf_tree_flush(struct ebpf *e)
{
	look(e, LOOK_FLUSH, 0);
}

/* False as well where nobody may look. */
static bool none_counted(struct ebpf *e)
{
	ebpf_state(e)->counted = 0;
	return look(e, LOOK_COUNT, 1) == 0 && !ebpf_state(e)->counted;
}

/* An end that was not told of must not keep us here for good. None at two looks: at one a child may be born behind it, and its parent end
 * before it. */
bool ebpf_tree_ended(struct ebpf *e)
{
	uint64_t now = mono_ns(), took;

	if (e->ended || __atomic_load_n(&ebpf_state(e)->live, __ATOMIC_RELAXED) <= 0)
		return true;
	if (now < e->census_ns)
		return false;
	if (!e->census_every_ns)
		e->census_every_ns = CENSUS_NS;
	else
		e->ended = none_counted(e) && none_counted(e);
	took = mono_ns() - now;
	e->census_ns = now + (took * CENSUS_SHARE > e->census_every_ns ? took * CENSUS_SHARE : e->census_every_ns);
	return e->ended;
}
