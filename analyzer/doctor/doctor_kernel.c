/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_kernel.c: what the kernel is and what it was built with: version, BTF, lockdown, clock source, PSI. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor_check.h"
#include "tools/text.h"

#define FLOOR_MAJOR 5
#define FLOOR_MINOR 15

void check_kernel(const struct doctor_machine *m, struct doctor_row *row)
{
	unsigned major = 0, minor = 0;
	char release[80];

	text_clean(release, sizeof(release), m->uts.release, 60);
	if (sscanf(m->uts.release, "%u.%u", &major, &minor) != 2) {
		row_fact(row, DOCTOR_LIMITED, "its version is not known: \"%s\"", release);
		row_means(row, "eBPF probes need %u.%u", FLOOR_MAJOR, FLOOR_MINOR);
	} else if (major < FLOOR_MAJOR || (major == FLOOR_MAJOR && minor < FLOOR_MINOR)) {
		row_fact(row, DOCTOR_MISSING, "Linux %s is older than %u.%u", release, FLOOR_MAJOR, FLOOR_MINOR);
		row_means(row, "no eBPF probes: host waits are seen by perf or /proc, without who woke whom");
	} else {
		row_fact(row, DOCTOR_OK, "Linux %s; eBPF probes need %u.%u", release, FLOOR_MAJOR, FLOOR_MINOR);
	}
}

void check_btf(const struct doctor_machine *m, struct doctor_row *row)
{
	static const char path[] = "/sys/kernel/btf/vmlinux";
	char head[8] = "";
	const unsigned char *magic = (const unsigned char *)head;

	if (!root_has(m, path)) {
		row_fact(row, DOCTOR_MISSING, "%s is not there", path);
		row_means(
			row,
			"no eBPF probes: they find the kernel's structures by it (CONFIG_DEBUG_INFO_BTF; in a container /sys may be empty)");
		if (container_kind(m) != IN_NONE)
			row_command(row, "docker run -v /sys/kernel/btf:/sys/kernel/btf:ro IMAGE");
	} else if (!root_read(m, path, head, sizeof(head))) {
		row_fact(row, DOCTOR_MISSING, "%s: %s", path, strerror(errno));
		row_means(row, "no eBPF probes: they find the kernel's structures by it");
		row_command(row, "sudo chmod a+r %s", path);
	} else if ((magic[0] != 0x9f || magic[1] != 0xeb) && (magic[0] != 0xeb || magic[1] != 0x9f)) {
		row_fact(row, DOCTOR_MISSING, "%s is no BTF", path);
		row_means(row, "no eBPF probes: they find the kernel's structures by it");
	} else {
		row_fact(row, DOCTOR_OK, "%s can be read", path);
	}
}

/* "none [integrity] confidentiality": the word in brackets. */
static bool chosen(const char *text, char *out, size_t size)
{
	const char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;

	if (!end || (size_t)(end - begin) > size)
		return false;
	snprintf(out, size, "%.*s", (int)(end - begin - 1), begin + 1);
	return true;
}

void check_lockdown(const struct doctor_machine *m, struct doctor_row *row)
{
	static const char path[] = "/sys/kernel/security/lockdown";
	char text[128], word[64];

	if (!root_read(m, path, text, sizeof(text))) {
		row_fact(row, DOCTOR_OK, "%s",
			 errno == ENOENT ? "none that can be seen"
					 : "it may not be read; the trials say what is allowed");
		return;
	}
	if (!chosen(text, word, sizeof(word)))
		snprintf(word, sizeof(word), "unknown");
	if (strcmp(word, "confidentiality") == 0) {
		row_fact(row, DOCTOR_MISSING, "the kernel is locked down: confidentiality");
		row_means(
			row,
			"eBPF may not read the kernel's memory: no eBPF probes until the machine is booted with lockdown=integrity or none");
	} else {
		row_fact(row, strcmp(word, "none") == 0 || strcmp(word, "integrity") == 0 ? DOCTOR_OK : DOCTOR_LIMITED,
			 "%s", strcmp(word, "unknown") == 0 ? "not understood" : word);
		if (strcmp(word, "integrity") == 0)
			row_means(row, "tracing may read, which is all that probes do");
	}
}

#if defined(__aarch64__)
#define COUNTER "arch_sys_counter"
#else
#define COUNTER "tsc"
#endif

void check_clocksource(const struct doctor_machine *m, struct doctor_row *row)
{
	static const char folder[] = "/sys/devices/system/clocksource/clocksource0/";
	char path[128], now[64], all[256], clean[80];

	snprintf(path, sizeof(path), "%savailable_clocksource", folder);
	root_read(m, path, all, sizeof(all));
	snprintf(path, sizeof(path), "%scurrent_clocksource", folder);
	if (!root_read(m, path, now, sizeof(now))) {
		row_fact(row, DOCTOR_LIMITED, "not known: %s", strerror(errno));
		row_means(row, "calls are timed by clock_gettime");
		return;
	}
	if (strcmp(now, COUNTER) == 0) {
		row_fact(row, DOCTOR_OK, "%s", now);
		row_means(row, "calls are timed by the processor's counter");
		return;
	}
	row_fact(row, DOCTOR_LIMITED, "%s", text_clean(clean, sizeof(clean), now, 40));
	if (strstr(all, COUNTER)) {
		row_means(row, "calls are timed by clock_gettime: a recorded call costs more");
		row_command(row, "echo %s | sudo tee %s", COUNTER, path);
	} else {
		row_means(
			row,
			"calls are timed by clock_gettime, which may be a system call: a recorded call costs more. The kernel does not offer %s: "
			"it found it not to be steady, or this machine hides it",
			COUNTER);
	}
}

void check_pressure(const struct doctor_machine *m, struct doctor_row *row)
{
	char text[256];

	if (root_read(m, "/proc/pressure/cpu", text, sizeof(text)) && strncmp(text, "some", 4) == 0) {
		row_fact(row, DOCTOR_OK, "/proc/pressure can be read");
		row_means(row, "the machine's pressure on CPU, memory and I/O is recorded as context");
		return;
	}
	if (!root_has(m, "/proc/pressure")) {
		row_fact(row, DOCTOR_LIMITED, "/proc/pressure is not there");
		row_means(
			row,
			"pressure of other programs is not recorded. Where the kernel has PSI it is turned on by psi=1 on its command line");
	} else {
		row_fact(row, DOCTOR_LIMITED, "/proc/pressure/cpu: %s", strerror(errno ? errno : EINVAL));
		row_means(row,
			  "pressure of other programs is not recorded; psi=1 on the kernel's command line turns it on");
	}
}
