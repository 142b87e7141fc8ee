/* SPDX-License-Identifier: BSD-2-Clause */
/* ebpf.c: the way to watch a process tree that knows who woke whom. */
#include "ebpf.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../proc_text.h"

#define NAP_NS 20000000 /* the kernel's buffer holds at least four times that of the densest events */

static void write_probes(struct ebpf *e)
{
	host_file_append(e->file, GST_PROBES, sizeof(e->probes), &e->probes);
}

static void discard(struct ebpf *e)
{
	ring_buffer__free(e->ring);
	ebpf_names_free(e->names);
	if (e->programs)
		ebpf_unload(e);
	free(e);
}

/* Are its four numbers of this kind, by /proc/<pid>/status, all the same: real, effective, saved, of files? */
static bool is_one(const char *status, const char *kind, uint64_t *id)
{
	const char *at = strstr(status, kind);
	uint64_t ids[4];

	if (!at)
		return false;
	at += strlen(kind);
	for (unsigned i = 0; i < 4; i++)
		if (!proc_text_number(&at, 10, &ids[i]) || ids[i] != ids[0])
			return false;
	*id = ids[0];
	return true;
}

/* As may_follow in the kernel has it. A link of its /proc is for those to read who may look at it. */
static bool its_own(pid_t root, char why[256])
{
	char status[4096], space[64];
	uint64_t uid, gid;

	if (proc_text_read(status, sizeof(status), "/proc/%d/status", (int)root) < 0) {
		snprintf(why, 256, "there is no process %d", (int)root);
		return false;
	}
	if (geteuid() == 0)
		return true;
	if (is_one(status, "\nUid:", &uid) && is_one(status, "\nGid:", &gid) && uid == getuid() &&
	    proc_text_link(space, sizeof(space), "/proc/%d/ns/user", (int)root))
		return true;
	snprintf(why, 256,
		 "process %d is another user's, or has another's rights, or lets nobody look: only root may follow it",
		 (int)root);
	return false;
}

static bool follow(struct ebpf *e, const struct probes_settings *s, char why[256])
{
	if (!ebpf_load(e, s, why) || !ebpf_attach(e, s, why))
		return false;
	if (ebpf_state(e)->live <= 0) {
		snprintf(why, 256, "process %d has ended", (int)s->root);
		return false;
	}
	e->names = ebpf_names_new(e->file, (uint32_t)s->root);
	e->ring = ring_buffer__new(ebpf_events_fd(e), ebpf_event, e, NULL);
	if (e->names && e->ring)
		return true;
	snprintf(why, 256, "no memory for the kernel's events");
	return false;
}

static bool start(void **state, const struct probes_settings *s, struct host_file *f, char why[256])
{
	struct ebpf *e;

	if (!its_own(s->root, why))
		return false;
	e = calloc(1, sizeof(*e));
	if (!e) {
		snprintf(why, 256, "no memory");
		return false;
	}
	e->file = f;
	e->probes.how = GST_PROBES_EBPF;
	e->probes.root = (uint32_t)s->root;
	e->probes.wait_ns = s->wait_ns;
	if (!follow(e, s, why)) {
		discard(e);
		return false;
	}
	e->probes.begin = mono_ns();
	write_probes(e);
	ring_buffer__consume(e->ring);
	*state = e;
	return true;
}

static void count_lost(struct ebpf *e)
{
	uint64_t lost = __atomic_load_n(&ebpf_state(e)->lost, __ATOMIC_RELAXED);

	if (lost > e->lost_told)
		host_file_count_dropped(e->file, lost - e->lost_told);
	e->lost_told = lost;
}

static bool alive(void *state)
{
	return !ebpf_tree_ended(state);
}

/* Nobody is woken for an event: we look. */
static bool poll(void *state, int timeout_ms)
{
	struct ebpf *e = state;
	uint64_t until = mono_ns() + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000000, now;

	do {
		int n = ring_buffer__consume(e->ring);

		if (n < 0)
			return false;
		now = mono_ns();
		if (now < until) {
			struct timespec nap = { .tv_nsec = until - now < NAP_NS ? (long)(until - now) : NAP_NS };

			nanosleep(&nap, NULL);
		}
	} while (now < until && alive(e));
	count_lost(e);
	return true;
}

static void stop(void *state)
{
	struct ebpf *e = state;

	ring_buffer__consume(e->ring);
	ebpf_tree_flush(e);
	ring_buffer__consume(e->ring);
	count_lost(e);
	e->probes.end = mono_ns();
	e->probes.events_lost = ebpf_state(e)->lost;
	e->probes.tasks_lost = ebpf_state(e)->tasks_lost;
	e->probes.kernel_ns = ebpf_kernel_ns(e);
	write_probes(e);
	discard(e);
}

static const struct backend ebpf = {
	.name = "ebpf", .how = GST_PROBES_EBPF, .start = start, .poll = poll, .alive = alive, .stop = stop
};
const struct backend *const backend_ebpf = &ebpf;

bool ebpf_can(char why[256])
{
	struct ebpf *e = calloc(1, sizeof(*e));
	const struct probes_settings s = { .wait_ns = 100000 };
	bool can;

	if (!e)
		return false;
	can = ebpf_load(e, &s, why);
	discard(e);
	return can;
}
