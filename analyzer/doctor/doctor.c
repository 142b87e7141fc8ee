/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor.c: the checks in their order, and what follows from all of them. */
#include "doctor.h"

#include <string.h>

#include "doctor_check.h"

const char *const doctor_state_names[] = { "ok", "limited", "missing" };
const char *const doctor_probes_names[] = { "none", "proc", "perf", "ebpf" };

struct check {
	const char *id, *title;
	void (*run)(const struct doctor_machine *m, struct doctor_row *row);
};

static const struct check checks[] = {
#define DOCTOR_GROUP(title)
#define CHECK(name, id, title) { id, title, check_##name },
#include "doctor_checks.def"
#undef CHECK
#undef DOCTOR_GROUP
};

#define CHECKS (sizeof(checks) / sizeof(checks[0]))
_Static_assert(CHECKS <= DOCTOR_ROWS, "room for a row of each check");

const struct doctor_row *doctor_row(const struct doctor *d, const char *id)
{
	for (size_t i = 0; i < d->n_rows; i++)
		if (strcmp(d->rows[i].id, id) == 0)
			return &d->rows[i];
	return NULL;
}

static bool is(const struct doctor *d, const char *id, enum doctor_state state)
{
	return doctor_row(d, id)->state == state;
}

/* As shim/settings.c decides it, for what can be known before the program runs. */
static void decide_level(struct doctor *d, const struct doctor_machine *m)
{
	const char *wanted = m->env("GPUSHIM_DEVICE"), *off = m->env("GPUSHIM"),
		   *queues = m->env("CUDA_DEVICE_MAX_CONNECTIONS");
	bool one_queue = queues && strcmp(queues, "1") == 0;

	d->level = one_queue ? "host" : "bursts";
	if (off && strcmp(off, "off") == 0) {
		d->level = "off";
		snprintf(d->level_why, sizeof(d->level_why), "GPUSHIM=off");
	} else if (wanted && strcmp(wanted, "host") == 0) {
		d->level = "host";
		snprintf(d->level_why, sizeof(d->level_why), "GPUSHIM_DEVICE=host");
	} else if (wanted && strcmp(wanted, "cupti") == 0 && is(d, "other-tools", DOCTOR_OK)) {
		d->level = "cupti";
		snprintf(d->level_why, sizeof(d->level_why), "GPUSHIM_DEVICE=cupti, else %s",
			 one_queue ? "host" : "bursts");
	} else if (one_queue) {
		snprintf(d->level_why, sizeof(d->level_why), "CUDA_DEVICE_MAX_CONNECTIONS=1");
	} else if (wanted && strcmp(wanted, "edges") == 0) {
		d->level = "edges";
		snprintf(d->level_why, sizeof(d->level_why), "GPUSHIM_DEVICE=edges");
	}
}

/* Adds to why the fact of a row that stands in the way. */
static void because(struct doctor *d, const char *id)
{
	size_t used = strlen(d->probes_why);

	snprintf(d->probes_why + used, sizeof(d->probes_why) - used, "%s%s", used ? "; " : "", doctor_row(d, id)->fact);
}

static void decide_probes(struct doctor *d)
{
	static const char *const for_ebpf[] = { "ebpf-build", "kernel", "btf", "ebpf-load", "ebpf-probes" };
	bool ebpf = true;

	for (size_t i = 0; i < sizeof(for_ebpf) / sizeof(for_ebpf[0]); i++) {
		if (!is(d, for_ebpf[i], DOCTOR_MISSING))
			continue;
		if (ebpf || strcmp(for_ebpf[i], "ebpf-probes") != 0) /* the last one fails where another does */
			because(d, for_ebpf[i]);
		ebpf = false;
	}
	if (ebpf) {
		d->probes = DOCTOR_PROBES_EBPF;
		return;
	}
	d->probes = DOCTOR_PROBES_PERF;
	if (is(d, "perf-open", DOCTOR_MISSING)) {
		because(d, "perf-open");
		d->probes = DOCTOR_PROBES_PROC;
	}
	if (is(d, "proc", DOCTOR_MISSING)) { /* both look there for what a task waits for */
		because(d, "proc");
		d->probes = DOCTOR_PROBES_NONE;
	}
}

void doctor_examine(struct doctor *d, const struct doctor_machine *m)
{
	memset(d, 0, sizeof(*d));
	for (size_t i = 0; i < CHECKS; i++) {
		struct doctor_row *row = &d->rows[d->n_rows++];

		row->id = checks[i].id;
		row->title = checks[i].title;
		checks[i].run(m, row);
	}
	d->can_record = true;
	for (size_t i = 0; i < d->n_rows; i++)
		if (d->rows[i].needed && d->rows[i].state == DOCTOR_MISSING)
			d->can_record = false;
	decide_level(d, m);
	decide_probes(d);
}
