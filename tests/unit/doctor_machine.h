/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_machine.h: a machine that is a folder, on which everything is there and allowed, for the tests of doctor's checks. */
#pragma once

#define MAYBE __attribute__((unused))

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor/doctor.h"
#include "doctor/doctor_child.h"
#include "doctor/doctor_trials.h"

#ifdef __aarch64__ /* the clock that the processor counts by */
#define COUNTER "arch_sys_counter"
#else
#define COUNTER "tsc"
#endif

#define CAPS (1ull << DOCTOR_CAP_BPF | 1ull << DOCTOR_CAP_PERFMON)

static char root[64];
static struct doctor_machine m;
static struct doctor d;

/* ---- the machine ------------------------------------------------------------------------------------ */

static const char *names[8], *values[8];
static size_t n_env;

static const char *env(const char *name)
{
	for (size_t i = 0; i < n_env; i++)
		if (strcmp(names[i], name) == 0)
			return values[i];
	return NULL;
}

MAYBE static void set_env(const char *name, const char *value)
{
	names[n_env] = name;
	values[n_env++] = value;
}

MAYBE static void folders_of(char *path)
{
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(path, 0755);
		*slash = '/';
	}
}

MAYBE static void put(const char *path, const char *text)
{
	char whole[256];
	FILE *f;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	folders_of(whole);
	f = fopen(whole, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

MAYBE static void put_link(const char *path, const char *target)
{
	char whole[256];

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	folders_of(whole);
	unlink(whole);
	assert_int_equal(symlink(target, whole), 0);
}

MAYBE static void take(const char *path)
{
	char whole[256];

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	assert_int_equal(remove(whole), 0);
}

MAYBE static bool can(char why[256])
{
	(void)why;
	return true;
}

/* Everything is there and allowed. */
MAYBE static int good_machine(void **state)
{
	(void)state;
	strcpy(root, "/tmp/test_doctor-XXXXXX");
	assert_non_null(mkdtemp(root));
	n_env = 0;
	memset(&m, 0, sizeof(m));
	m.root = root;
	m.env = env;
	m.uid = 1000;
	strcpy(m.uts.release, "6.1.0-18-amd64");
	m.caps_known = true;
	m.ebpf.can = can;
	strcpy(m.self, "/opt/gpushim/bin/gpushim");
	strcpy(m.recorder, "/opt/gpushim/lib/libgpushim.so");
	m.caps = m.caps_file = CAPS;
	m.caps_bounding = UINT64_MAX;
	m.bpf.done = m.probes.done = m.perf.done = m.memory.done = m.load.done = m.write.done = true;
	m.driver = (struct doctor_driver){ .can_load = true, .version = 12040, .init = 0, .devices = 8 };
	strcpy(m.driver.path, "/usr/lib/libcuda.so.550.54.15");
	strcpy(m.driver.cupti, "/usr/lib/libcupti.so.12");
	m.place = (struct doctor_place){ .stat_done = true, .type = 0xef53, .free_bytes = 100ull << 30 };
	strcpy(m.place.dir, "/data/gpushim-out");
	put("/sys/kernel/btf/vmlinux", "\x9f\xeb\x01");
	put("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
	put("/sys/devices/system/clocksource/clocksource0/current_clocksource", COUNTER "\n");
	put("/sys/devices/system/clocksource/clocksource0/available_clocksource", COUNTER " hpet acpi_pm \n");
	put("/proc/self/status", "Name:\tgpushim\nTgid:\t12\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n");
	put("/proc/self/uid_map", "         0          0 4294967295\n");
	put("/proc/self/cgroup", "0::/user.slice/user-1000.slice\n");
	put("/proc/self/mounts", "proc /proc proc rw,nosuid 0 0\n");
	put_link("/proc/self/ns/pid", "pid:[4026531836]");
	put("/proc/1/cgroup", "0::/init.scope\n");
	put("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n");
	put("/proc/sys/kernel/perf_event_paranoid", "2\n");
	put("/proc/sys/kernel/unprivileged_bpf_disabled", "2\n");
	put("/proc/driver/nvidia/version",
	    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC version: gcc 12.2\n");
	put("/proc/driver/nvidia/params", "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n");
	return 0;
}

MAYBE static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

MAYBE static int remove_machine(void **state)
{
	(void)state;
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- what is asserted ------------------------------------------------------------------------------- */

MAYBE static const struct doctor_row *examine(const char *id)
{
	const struct doctor_row *row;

	doctor_examine(&d, &m);
	row = doctor_row(&d, id);
	assert_non_null(row);
	return row;
}

MAYBE static void expect(const char *id, enum doctor_state state, const char *fact, const char *command)
{
	const struct doctor_row *row = examine(id);

	if (row->state != state || !strstr(row->fact, fact) || strcmp(row->command, command) != 0)
		fail_msg("%s: %s, \"%s\", \"%s\"; expected %s, \"%s\", \"%s\"", id, doctor_state_names[row->state],
			 row->fact, row->command, doctor_state_names[state], fact, command);
}

#define SETCAP "sudo setcap cap_bpf,cap_perfmon+ep /opt/gpushim/bin/gpushim"

MAYBE static void no_caps(void)
{
	m.caps = m.caps_file = 0;
	m.bpf.error = EPERM;
}
