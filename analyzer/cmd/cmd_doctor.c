/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_doctor.c: what this machine lets a recording see, and what would let it see more. */
#include "cmd.h"

#include <stdlib.h>
#include <unistd.h>

#include "cmd_recorder.h"
#include "cmd_secure.h"
#include "doctor/doctor_trials.h"
#include "shim/probes/ebpf.h"

#define CANNOT_RECORD 1

struct doctor_opts {
	const char *out;
	bool json;
};

static const struct option_row rows[] = {
	{ "out", 'o', OPT_TEXT, offsetof(struct doctor_opts, out), "DIR",
	  "the run directory it is about (GPUSHIM_OUT, else ./gpushim-out)", 0, 0 },
	{ "json", 0, OPT_FLAG, offsetof(struct doctor_opts, json), NULL,
	  "everything, for programs (schema gpushim.doctor/1)", 0, 0 },
};

const struct option_set cmd_doctor_options = {
	.usage =
		"[options]\n\n"
		"What this machine lets a recording see, and the command that would let it see more. It changes nothing.\n"
		"Exit status: 0 fine; 1 something that a recording needs at all is missing; 2 usage.",
	.rows = rows,
	.n_rows = sizeof(rows) / sizeof(rows[0]),
};

static const char *environment(const char *name)
{
	return secure_getenv_given(name);
}

static const char *run_directory(const char *wanted)
{
	const char *set = environment("GPUSHIM_OUT");

	return wanted ? wanted : set && *set ? set : "gpushim-out";
}

int cmd_doctor(int argc, char *argv[])
{
	static struct doctor_machine machine = { .root = "", .env = environment };
	static struct doctor doctor;
	struct doctor_opts o = { 0 };
	struct report_style style;
	int first, status = cmd_options(&cmd_doctor_options, argc, argv, &o, &first);

	if (status >= 0)
		return status;
	machine.driver.become_ordinary = secure_become_ordinary;
	machine.ebpf.can = backend_ebpf ? ebpf_can : NULL;
	if (!recorder_find(machine.recorder))
		machine.recorder[0] = 0;
	doctor_trials(&machine, run_directory(o.out));
	doctor_examine(&doctor, &machine);
	if (o.json) {
		doctor_json(stdout, &doctor);
	} else {
		style = cmd_style(STDOUT_FILENO);
		doctor_text(stdout, &doctor, &style);
	}
	return cmd_finish(stdout, "standard output", doctor.can_record ? 0 : CANNOT_RECORD);
}
