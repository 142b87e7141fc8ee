/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_rights.c: what this process may do, by what is said of it: capabilities, seccomp, the kernel's switches. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_check.h"
#include "tools/text.h"

bool has_cap(uint64_t caps, int cap)
{
	return caps >> cap & 1;
}

bool caps_suffice(uint64_t caps)
{
	return has_cap(caps, DOCTOR_CAP_SYS_ADMIN) ||
	       (has_cap(caps, DOCTOR_CAP_BPF) && has_cap(caps, DOCTOR_CAP_PERFMON));
}

static const char *cap_words(uint64_t caps)
{
	if (has_cap(caps, DOCTOR_CAP_SYS_ADMIN))
		return "CAP_SYS_ADMIN";
	if (caps_suffice(caps))
		return "CAP_BPF and CAP_PERFMON";
	if (has_cap(caps, DOCTOR_CAP_BPF))
		return "CAP_BPF, not CAP_PERFMON";
	return has_cap(caps, DOCTOR_CAP_PERFMON) ? "CAP_PERFMON, not CAP_BPF" : "neither CAP_BPF nor CAP_PERFMON";
}

static bool no_new_privileges(const struct doctor_machine *m)
{
	char value[16];

	return root_field(m, "/proc/self/status", "NoNewPrivs", value, sizeof(value)) && value[0] == '1';
}

static void setcap(struct doctor_row *row, const struct doctor_machine *m)
{
	char word[PATH_MAX];

	if (m->self[0])
		row_command(row, "sudo setcap cap_bpf,cap_perfmon+ep %s", shell_word(word, sizeof(word), m->self));
}

/* How capabilities are to be had here, if at all. */
static void how_to_get_caps(struct doctor_row *row, const struct doctor_machine *m)
{
	if (in_user_namespace(m)) {
		row_means(
			row,
			"no eBPF probes: in a user namespace of its own (rootless container) no capability counts for them");
	} else if (!caps_suffice(m->caps_bounding)) {
		row_means(row, "no eBPF probes: this process and its children may never have them (bounding set)");
		row_container_command(row, m, true, false);
	} else if (no_new_privileges(m)) {
		row_means(
			row,
			"no eBPF probes, and with no_new_privs set a file's capabilities do not count: start without it");
	} else if (caps_suffice(m->caps_file)) {
		row_means(row, "the file has them and gets none: its file system is mounted nosuid, perhaps");
	} else {
		row_means(row, "no eBPF probes without them");
		setcap(row, m);
	}
}

void check_capabilities(const struct doctor_machine *m, struct doctor_row *row)
{
	const char *file = caps_suffice(m->caps_file) ? " (its file has them)" : "";

	if (!m->caps_known) {
		row_fact(row, DOCTOR_LIMITED, "not known");
		row_means(row, "the eBPF trial says what is allowed");
	} else if (!caps_suffice(m->caps)) {
		row_fact(row, DOCTOR_MISSING, "gpushim has %s", cap_words(m->caps));
		how_to_get_caps(row, m);
	} else if (in_user_namespace(m)) {
		row_fact(row, DOCTOR_MISSING, "gpushim has %s in its user namespace only", cap_words(m->caps));
		how_to_get_caps(row, m);
	} else {
		row_fact(row, DOCTOR_OK, "gpushim has %s%s", cap_words(m->caps), file);
	}
}

void check_build(const struct doctor_machine *m, struct doctor_row *row)
{
	if (m->ebpf.can) {
		row_fact(row, DOCTOR_OK, "this build has the eBPF probes");
		return;
	}
	row_fact(row, DOCTOR_MISSING, "this build has no eBPF probes");
	row_means(
		row,
		"host waits are seen by perf or /proc. The probes are built where clang, bpftool and libbpf's headers are");
	row_command(row, "sudo apt-get install clang bpftool libbpf-dev && make clean all");
}

void check_bpf_load(const struct doctor_machine *m, struct doctor_row *row)
{
	char words[128], mode[16];
	bool may = m->caps_known && caps_suffice(m->caps) && !in_user_namespace(m);
	bool filtered = root_field(m, "/proc/self/status", "Seccomp", mode, sizeof(mode)) && mode[0] == '2';

	if (m->bpf.done && !m->bpf.error) {
		row_fact(row, DOCTOR_OK, "the kernel takes a tracing program from us");
		return;
	}
	row_fact(row, DOCTOR_MISSING, "a tracing program of two instructions %s", trial_words(words, &m->bpf));
	if (m->bpf.error == ENOSYS) {
		row_means(row, "this kernel has no bpf(), or something answers in its place (gVisor, an emulator)");
	} else if (may && (filtered || m->bpf.signal)) {
		row_means(row, "we have the capabilities: a seccomp filter forbids it");
		row_container_command(row, m, true, true);
	} else if (may) {
		row_means(row, "we have the capabilities: lockdown or a security module forbids it");
	} else {
		how_to_get_caps(row, m);
		row_means(row, "no eBPF probes without the capabilities");
	}
}

/* The probes themselves: they ask for more than the trial does. */
void check_probes_load(const struct doctor_machine *m, struct doctor_row *row)
{
	char words[128], why[256];

	if (!m->ebpf.can) {
		row_fact(row, DOCTOR_MISSING, "not tried, as this build has none");
	} else if (m->probes.done && !m->probes.error) {
		row_fact(row, DOCTOR_OK, "their programs load here");
	} else if (m->probes.done) {
		row_fact(row, DOCTOR_MISSING, "%s", text_clean(why, sizeof(why), m->ebpf.why, sizeof(why)));
		row_means(row, "host waits are seen by perf or /proc, without who woke whom");
		if (m->caps_known && !caps_suffice(m->caps))
			how_to_get_caps(row, m);
	} else {
		row_fact(row, DOCTOR_MISSING, "a process that loaded them %s", trial_words(words, &m->probes));
	}
}

void check_unprivileged(const struct doctor_machine *m, struct doctor_row *row)
{
	long value;

	if (!root_number(m, "/proc/sys/kernel/unprivileged_bpf_disabled", &value)) {
		row_fact(row, DOCTOR_OK, "the kernel does not say");
	} else {
		row_fact(row, DOCTOR_OK, "kernel.unprivileged_bpf_disabled is %ld", value);
		row_means(row, "tracing needs capabilities whatever it is: nothing to change");
	}
}

void check_paranoid(const struct doctor_machine *m, struct doctor_row *row)
{
	long value;
	bool above = m->caps_known && !in_user_namespace(m) &&
		     (has_cap(m->caps, DOCTOR_CAP_PERFMON) || has_cap(m->caps, DOCTOR_CAP_SYS_ADMIN));

	if (!root_number(m, "/proc/sys/kernel/perf_event_paranoid", &value)) {
		row_fact(row, DOCTOR_LIMITED,
			 errno == ENOENT ? "the kernel has no kernel.perf_event_paranoid here"
					 : "kernel.perf_event_paranoid: %s",
			 strerror(errno));
		row_means(row, "without perf_event_open host waits are seen by looks at /proc, 100 a second");
	} else if (value > 2 && !above) {
		row_fact(row, DOCTOR_LIMITED, "kernel.perf_event_paranoid is %ld", value);
		row_means(
			row,
			"perf_event_open is not for ordinary users: without eBPF, host waits are seen by looks at /proc, 100 a second");
		row_command(row, "sudo sysctl kernel.perf_event_paranoid=2");
	} else {
		row_fact(row, DOCTOR_OK, "kernel.perf_event_paranoid is %ld", value);
		if (above)
			row_means(row, "our capabilities are above it");
	}
}

void check_perf_open(const struct doctor_machine *m, struct doctor_row *row)
{
	char words[128], mode[16];
	long value = 2;

	if (m->perf.done && !m->perf.error) {
		row_fact(row, DOCTOR_OK, "the kernel tells us of our own context switches");
		return;
	}
	row_fact(row, DOCTOR_MISSING, "perf_event_open for our own context switches %s", trial_words(words, &m->perf));
	row_means(row, "without eBPF, host waits are seen by looks at /proc, 100 a second");
	root_number(m, "/proc/sys/kernel/perf_event_paranoid", &value);
	if (value > 2)
		row_command(row, "sudo sysctl kernel.perf_event_paranoid=2");
	else if (m->perf.signal ||
		 (root_field(m, "/proc/self/status", "Seccomp", mode, sizeof(mode)) && mode[0] == '2'))
		row_container_command(row, m, false, true);
}

void check_ptrace(const struct doctor_machine *m, struct doctor_row *row)
{
	long value;
	bool above = m->caps_known && has_cap(m->caps, 19); /* CAP_SYS_PTRACE */

	if (!root_number(m, "/proc/sys/kernel/yama/ptrace_scope", &value)) {
		row_fact(row, DOCTOR_OK,
			 errno == ENOENT ? "no Yama: a user's programs may be looked at by that user"
					 : "kernel.yama.ptrace_scope: %s",
			 strerror(errno));
	} else if (value == 0 || above) {
		row_fact(row, DOCTOR_OK, "kernel.yama.ptrace_scope is %ld%s", value,
			 value ? "; our capabilities are above it" : "");
	} else if (value == 1) {
		row_fact(row, DOCTOR_LIMITED, "kernel.yama.ptrace_scope is 1");
		row_means(
			row,
			"without eBPF, what a thread waits for (/proc/TID/syscall) is seen only of programs that gpushim started itself");
		row_command(row, "sudo sysctl kernel.yama.ptrace_scope=0");
	} else {
		row_fact(row, DOCTOR_LIMITED, "kernel.yama.ptrace_scope is %ld", value);
		row_means(row, "without eBPF, what a thread waits for (/proc/TID/syscall) is not seen");
		if (value < 3) /* 3 cannot be changed */
			row_command(row, "sudo sysctl kernel.yama.ptrace_scope=0");
	}
}

void check_seccomp(const struct doctor_machine *m, struct doctor_row *row)
{
	char mode[16], n[16];

	if (!root_field(m, "/proc/self/status", "Seccomp", mode, sizeof(mode))) {
		row_fact(row, DOCTOR_LIMITED, "not known: /proc/self/status does not say");
		row_means(row, "the trials say what is allowed");
	} else if (mode[0] == '2') {
		root_field(m, "/proc/self/status", "Seccomp_filters", n, sizeof(n));
		row_fact(row, DOCTOR_LIMITED, "%s%sfilter%s in force", n, n[0] ? " " : "a ",
			 n[0] && strcmp(n, "1") != 0 ? "s" : "");
		row_means(row, "a container's or a sandbox's; the trials say whether it stands in the way");
	} else {
		row_fact(row, DOCTOR_OK, "no filter");
	}
}
