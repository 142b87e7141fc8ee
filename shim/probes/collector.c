/* SPDX-License-Identifier: BSD-2-Clause */
#include "collector.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "root.h"

#define POLL_MS 20 /* also how often it gives a sign of life */

/* Best first. NULL, or one without start: not in this build. */
static const struct backend *way(unsigned i)
{
	const struct backend *const ways[COLLECTOR_WAYS] = { backend_ebpf, &backend_perf, &backend_proc };

	return ways[i];
}

static const char *const names[COLLECTOR_WAYS] = { "ebpf", "perf", "proc" };

enum tried { TRIED_REFUSED, TRIED_FOLLOWS, TRIED_NO_FILE };

/* Into a file of its own: one that did not start may have written to it. */
static enum tried try(struct collector *c, const struct backend *b, const struct probes_settings *s, char why[256])
{
	int rc;

	why[0] = 0;
	if (!b || !b->start) {
		snprintf(why, 256, "not in this build");
		return TRIED_REFUSED;
	}
	rc = host_file_create(&c->file, s->dir, s->root, s->limit);
	if (rc) {
		snprintf(why, 256, "cannot record into %.150s: %s", s->dir,
			 rc == ENODEV ? "no local directory has room for it (GPUSHIM_LOCAL)" : strerror(rc));
		return TRIED_NO_FILE;
	}
	if (s->exe)
		host_file_program(c->file, s->exe, s->cmdline);
	if (b->start(&c->state, s, c->file, why)) {
		if (root_is_same(s->root_fd)) {
			c->backend = b;
			c->becoming = s->exe ? s->root : 0;
			return TRIED_FOLLOWS;
		}
		b->stop(c->state); /* it may have been another of its number that was found */
		snprintf(why, 256, "process %d has ended", (int)s->root);
	}
	host_file_discard(c->file);
	c->file = NULL;
	return TRIED_REFUSED;
}

bool collector_start(struct collector *c, const struct probes_settings *s, const char *how, char why[256])
{
	memset(c, 0, sizeof(*c));
	for (unsigned i = 0; i < COLLECTOR_WAYS; i++) {
		struct collector_refused *r = &c->refused[c->n_refused];
		enum tried tried;

		if (strcmp(how, "auto") != 0 && strcmp(how, names[i]) != 0)
			continue;
		r->name = names[i];
		tried = try(c, way(i), s, r->why);
		if (tried == TRIED_FOLLOWS)
			return true;
		snprintf(why, 256, "%s", r->why);
		if (tried == TRIED_NO_FILE) { /* nor by any other way */
			c->n_refused = 0;
			return false;
		}
		c->n_refused++;
	}
	return false;
}

/* ---- privileges ------------------------------------------------------------------------------------------------------ */

#define BIT(cap) (1ull << (cap))

void collector_drop_privileges(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	/* /proc of other users' processes, and of those with capabilities that we gave up. */
	uint64_t keep = geteuid() == 0 ? BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) : 0;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	if (syscall(SYS_capget, &header, data) != 0)
		return;
	for (unsigned i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(keep >> (32 * i));
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	syscall(SYS_capset, &header, data);
}

/* ---- following ------------------------------------------------------------------------------------------------------- */

/* What we were told is what was asked for: of a script it is the interpreter that runs. */
static void name_program(struct collector *c)
{
	struct gst_file_header now;
	enum root_program is = root_program(c->becoming, &now);

	if (is == ROOT_NOT_YET)
		return;
	if (is == ROOT_OTHER)
		host_file_program(c->file, now.exe, now.cmdline);
	c->becoming = 0;
}

bool collector_follow(struct collector *c, const volatile sig_atomic_t *stop)
{
	bool goes_on = true;

	while (goes_on && !*stop && c->backend->alive(c->state)) {
		goes_on = c->backend->poll(c->state, POLL_MS);
		host_file_beat(c->file);
		if (c->becoming)
			name_program(c);
	}
	return goes_on;
}

static struct collector_sums sum_up(const struct collector *c)
{
	const struct gst_counters *n = host_file_counters(c->file);
	const char *slash = strrchr(host_file_path(c->file), '/');
	struct collector_sums sums = { .dropped = n->records_dropped,
				       .dropped_errno = n->drop_errno,
				       .recycled = n->records_recycled,
				       .own_cpu_ns = n->own_cpu_ns };

	snprintf(sums.file, sizeof(sums.file), "%s", slash ? slash + 1 : "");
	return sums;
}

void collector_finish(struct collector *c, struct collector_sums *sums)
{
	int rc;

	c->backend->stop(c->state);
	rc = host_file_end(c->file);
	if (sums) {
		*sums = sum_up(c);
		sums->move_errno = rc;
	}
	host_file_finish(c->file);
	memset(c, 0, sizeof(*c));
}
