/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_confined.c: the container or sandbox we are in, its namespaces and control groups, and what its /proc shows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_check.h"
#include "tools/text.h"

enum doctor_container container_kind(const struct doctor_machine *m)
{
	const char *env = m->env("container"), *kubernetes = m->env("KUBERNETES_SERVICE_HOST");
	char text[8192];

	root_read(m, "/proc/1/cgroup", text, sizeof(text));
	if (kubernetes || root_has(m, "/var/run/secrets/kubernetes.io") || strstr(text, "kubepods"))
		return IN_KUBERNETES;
	if (root_has(m, "/run/.containerenv") || (env && strcmp(env, "podman") == 0) || strstr(text, "libpod"))
		return IN_PODMAN;
	if (root_has(m, "/.dockerenv") || (env && strcmp(env, "docker") == 0) || strstr(text, "docker"))
		return IN_DOCKER;
	return (env && *env) || root_has(m, "/run/systemd/container") || strstr(text, "/lxc") ||
			       root_has(m, "/.singularity.d")
		       ? IN_OTHER
		       : IN_NONE;
}

void row_container_command(struct doctor_row *row, const struct doctor_machine *m, bool bpf, bool no_seccomp)
{
	enum doctor_container kind = container_kind(m);

	if (kind == IN_KUBERNETES)
		row_command(
			row,
			"kubectl patch deployment NAME --type=json -p '[{\"op\":\"add\",\"path\":\"/spec/template/spec/containers/0/securityContext\","
			"\"value\":{\"capabilities\":{\"add\":[%s\"PERFMON\"]}%s}}]'",
			bpf ? "\"BPF\"," : "", no_seccomp ? ",\"seccompProfile\":{\"type\":\"Unconfined\"}" : "");
	else if (kind == IN_DOCKER || kind == IN_PODMAN)
		row_command(row, "%s run%s --cap-add PERFMON%s IMAGE", kind == IN_DOCKER ? "docker" : "sudo podman",
			    bpf ? " --cap-add BPF" : "", no_seccomp ? " --security-opt seccomp=unconfined" : "");
}

bool in_user_namespace(const struct doctor_machine *m)
{
	unsigned long inside, outside, count;
	char text[256];

	return root_read(m, "/proc/self/uid_map", text, sizeof(text)) &&
	       sscanf(text, "%lu %lu %lu", &inside, &outside, &count) == 3 &&
	       !(inside == 0 && outside == 0 && count == 4294967295ul);
}

/* The first namespaces' inodes never change (include/linux/proc_ns.h); the others' do. */
static bool own_pid_namespace(const struct doctor_machine *m)
{
	char link[64];

	return root_link(m, "/proc/self/ns/pid", link, sizeof(link)) && strcmp(link, "pid:[4026531836]") != 0;
}

void check_container(const struct doctor_machine *m, struct doctor_row *row)
{
	static const char *const names[] = { "none", "a container", "Docker", "Podman", "Kubernetes" };
	enum doctor_container kind = container_kind(m);
	bool pid = own_pid_namespace(m), user = in_user_namespace(m);

	row_fact(row, user ? DOCTOR_LIMITED : DOCTOR_OK, "%s%s%s", names[kind],
		 pid ? "; a PID namespace of its own" : "", user ? "; a user namespace of its own" : "");
	if (user)
		row_means(row, "capabilities in it count for nothing outside: perf or /proc at best");
	else if (pid)
		row_means(row, "programs of this container can be followed from here, others from outside");
}

static bool is_v2(const char *cgroups)
{
	return strncmp(cgroups, "0::", 3) == 0 && !strchr(cgroups, '\n');
}

void check_cgroup(const struct doctor_machine *m, struct doctor_row *row)
{
	char text[8192], clean[160], *cpu, *end;

	if (!root_read(m, "/proc/self/cgroup", text, sizeof(text)) || !*text) {
		row_fact(row, DOCTOR_LIMITED, "not known: %s", errno ? strerror(errno) : "/proc/self/cgroup is empty");
		row_means(row, "time held back by a CPU quota may be called run-queue time");
		return;
	}
	if (is_v2(text)) {
		row_fact(row, DOCTOR_OK, "v2, group %s", text_clean(clean, sizeof(clean), text + 3, 100));
		return;
	}
	cpu = strstr(text, ":cpu:")           ? strstr(text, ":cpu:") + 5
	      : strstr(text, ":cpu,cpuacct:") ? strstr(text, ":cpu,cpuacct:") + 13
					      : NULL;
	if (!cpu) {
		row_fact(row, DOCTOR_LIMITED, "v1, without a controller of CPU time");
		row_means(row, "no CPU quota of v1 can hold us back; v2's are read as well");
		return;
	}
	end = strchr(cpu, '\n');
	if (end)
		*end = 0;
	row_fact(row, DOCTOR_OK, "v1%s, CPU group %s", strstr(text, "0::") || end ? " beside v2" : "",
		 text_clean(clean, sizeof(clean), cpu, 100));
}

/* hidepid and subset of the mount of /proc. */
static bool proc_options(const struct doctor_machine *m, char *out, size_t size)
{
	char text[65536], *save, *line, *type, *options;

	out[0] = 0;
	if (!root_read(m, "/proc/self/mounts", text, sizeof(text)))
		return false;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		type = strstr(line, " /proc proc ");
		if (!type)
			continue;
		options = type + strlen(" /proc proc ");
		snprintf(out, size, "%.*s", (int)strcspn(options, " "), options);
	}
	return out[0] != 0;
}

void check_proc(const struct doctor_machine *m, struct doctor_row *row)
{
	char options[512], state[16];
	const char *hide;

	if (!root_field(m, "/proc/self/status", "Tgid", state, sizeof(state))) {
		row_fact(row, DOCTOR_MISSING, "/proc is not there, or not to be read");
		row_means(row,
			  "threads are not named, no sample says what a silent thread does, no probes without eBPF");
		row_command(row, "sudo mount -t proc proc /proc");
		return;
	}
	hide = proc_options(m, options, sizeof(options)) ? strstr(options, "hidepid=") : NULL;
	if (strstr(options, "subset=pid")) {
		row_fact(row, DOCTOR_LIMITED, "/proc has processes only (subset=pid)");
		row_means(row, "the kernel's settings and pressure are not seen");
	} else if (hide && strncmp(hide, "hidepid=0", 9) != 0 && strncmp(hide, "hidepid=off", 11) != 0 && m->uid != 0) {
		row_fact(row, DOCTOR_LIMITED, "/proc is mounted with %.*s", (int)strcspn(hide, ","), hide);
		row_means(
			row,
			"your own programs are seen; who woke them is a number without a name where it is another user's");
		row_command(row, "sudo mount -o remount,hidepid=0 /proc");
	} else {
		row_fact(row, DOCTOR_OK, "can be read");
	}
}
