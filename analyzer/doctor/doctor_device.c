/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_device.c: NVIDIA's driver, CUPTI, and who else may want to time the device. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "doctor_check.h"
#include "tools/text.h"

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue …" or "… Open Kernel Module for x86_64  570.86  Release Build": "550.54.15" */
static bool module_version(const struct doctor_machine *m, char *out, size_t size)
{
	char text[2048], *save, *word;
	unsigned a, b;

	out[0] = 0;
	if (!root_read(m, "/proc/driver/nvidia/version", text, sizeof(text)))
		return false;
	for (word = strtok_r(text, " \t\n", &save); word && !out[0]; word = strtok_r(NULL, " \t\n", &save))
		if (sscanf(word, "%u.%u", &a, &b) == 2 && a >= 100)
			text_clean(out, size, word, 20);
	return out[0] != 0;
}

static void devices(struct doctor_row *row, const struct doctor_machine *m)
{
	const struct doctor_driver *d = &m->driver;

	if (d->init == 0 && d->devices > 0) {
		row_means(row, "%d device%s", d->devices, d->devices == 1 ? "" : "s");
	} else if (d->init == 0) {
		row->state = DOCTOR_LIMITED;
		row_means(row, "it finds no device here");
	} else if (d->init > 0) {
		row->state = DOCTOR_LIMITED;
		row_means(row, "cuInit answers %d%s: programs find no device here", d->init,
			  d->init == 100   ? " (no device)"
			  : d->init == 803 ? " (the kernel's module has another version)"
					   : "");
		if (container_kind(m) == IN_DOCKER && d->init == 100)
			row_command(row, "docker run --gpus all IMAGE");
	}
}

/* The loader's word without the name that it begins with. */
static const char *reason(const char *why)
{
	static const char name[] = "libcuda.so.1: ";

	return strncmp(why, name, strlen(name)) == 0 ? why + strlen(name) : why;
}

static void no_driver(struct doctor_row *row, const struct doctor_machine *m, const char *module)
{
	char words[128], clean[160];

	if (!m->load.done)
		row_fact(row, DOCTOR_MISSING, "a process that loaded libcuda.so.1 and asked it %s",
			 trial_words(words, &m->load));
	else
		row_fact(row, DOCTOR_MISSING, "libcuda.so.1 cannot be loaded: %s",
			 text_clean(clean, sizeof(clean), reason(m->driver.why), 150));
	row_means(row, "%s%s", "there is nothing to record, unless the program brings the library itself",
		  *module ? "; the kernel's module is there" : "");
	if (container_kind(m) == IN_DOCKER || container_kind(m) == IN_PODMAN)
		row_command(row, "%s run %s IMAGE", container_kind(m) == IN_DOCKER ? "docker" : "podman",
			    container_kind(m) == IN_DOCKER ? "--gpus all" : "--device nvidia.com/gpu=all");
	else if (*module)
		row_command(row, "sudo ldconfig");
}

void check_driver(const struct doctor_machine *m, struct doctor_row *row)
{
	const struct doctor_driver *d = &m->driver;
	char module[32], version[32] = "", path[300];

	row->needed = true;
	module_version(m, module, sizeof(module));
	if (m->load.done && !d->can_load) {
		row_fact(row, DOCTOR_LIMITED, "this gpushim is static and cannot load libcuda.so.1%s%s",
			 *module ? "; the kernel's module is " : "", module);
		row_means(row, "ask the one that is not static");
		return;
	}
	if (!m->load.done || !d->path[0]) {
		no_driver(row, m, module);
		return;
	}
	if (d->version)
		snprintf(version, sizeof(version), ", CUDA %d.%d", d->version / 1000, d->version % 1000 / 10);
	row_fact(row, DOCTOR_OK, "%s%s%s%s", text_clean(path, sizeof(path), d->path, 280), version,
		 *module ? ", kernel module " : "", module);
	devices(row, m);
}

void check_level(const struct doctor_machine *m, struct doctor_row *row)
{
	static const char *const levels[] = { "", "auto", "host", "edges", "bursts", "cupti" };
	const char *off = m->env("GPUSHIM"), *level = m->env("GPUSHIM_DEVICE"),
		   *queues = m->env("CUDA_DEVICE_MAX_CONNECTIONS");
	bool known = !level;
	char clean[64];

	row->needed = true;
	for (size_t i = 0; level && i < sizeof(levels) / sizeof(levels[0]); i++)
		known |= strcmp(level, levels[i]) == 0;
	if (off && strcmp(off, "off") == 0) {
		row_fact(row, DOCTOR_MISSING, "GPUSHIM=off");
		row_means(row, "nothing is recorded");
		row_command(row, "unset GPUSHIM");
	} else if (level && strcmp(level, "host") == 0) {
		row_fact(row, DOCTOR_LIMITED, "GPUSHIM_DEVICE=host");
		row_means(row, "no timing events: what the device did is known only where the program waits for it");
		row_command(row, "unset GPUSHIM_DEVICE");
	} else if (queues && strcmp(queues, "1") == 0) {
		row_fact(row, DOCTOR_LIMITED, "CUDA_DEVICE_MAX_CONNECTIONS=1: level host");
		row_means(row,
			  "timing events could delay the program's other streams in the one queue: none are recorded");
		row_command(row, "unset CUDA_DEVICE_MAX_CONNECTIONS");
	} else if (!known) {
		row_fact(row, DOCTOR_LIMITED, "GPUSHIM_DEVICE=%s is no level: bursts is taken",
			 text_clean(clean, sizeof(clean), level, 40));
		row_command(row, "unset GPUSHIM_DEVICE");
	} else {
		row_fact(row, DOCTOR_OK, "%s",
			 !level || !*level || strcmp(level, "auto") == 0 ? "bursts, the best that is safe" : level);
	}
}

void check_cupti(const struct doctor_machine *m, struct doctor_row *row)
{
	char clean[300];

	if (m->driver.cupti[0]) {
		row_fact(row, DOCTOR_OK, "%s", text_clean(clean, sizeof(clean), m->driver.cupti, 280));
		row_means(row, "level cupti can be asked for: every kernel's own times");
		row_command(row, "export GPUSHIM_DEVICE=cupti");
		return;
	}
	row_fact(row, DOCTOR_LIMITED, "the loader finds no libcupti.so");
	row_means(
		row,
		"level cupti is to be had only in programs that bring it beside their CUDA libraries (PyTorch's wheels do)");
	row_command(row, "pip install nvidia-cuda-cupti-cu12");
}

/* Nsight Compute's: one of its runs at a time holds it. */
static bool compute_lock_held(const struct doctor_machine *m)
{
	const char *folder = m->env("TMPDIR");
	char path[PATH_MAX];
	bool held;
	int fd;

	snprintf(path, sizeof(path), "%s%s/nsight-compute-lock", m->root, folder && *folder ? folder : "/tmp");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return false;
	held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	if (!held) {
		struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

		held = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
	}
	close(fd);
	return held;
}

void check_tools(const struct doctor_machine *m, struct doctor_row *row)
{
	const char *cuda = m->env("CUDA_INJECTION64_PATH"), *nvtx = m->env("NVTX_INJECTION64_PATH");
	char clean[200];

	if (cuda && *cuda && strcmp(cuda, "none") != 0) {
		row_fact(row, DOCTOR_LIMITED, "CUDA_INJECTION64_PATH is %s",
			 text_clean(clean, sizeof(clean), cuda, 180));
		row_means(
			row,
			"that tool is loaded into the program and will hold CUPTI: level cupti is not to be had, the others are");
		row_command(row, "unset CUDA_INJECTION64_PATH");
	} else if (compute_lock_held(m)) {
		row_fact(row, DOCTOR_LIMITED, "Nsight Compute is at work on this machine (it holds its lock)");
		row_means(
			row,
			"its kernels are run again and again, one at a time: a recording made now times that as well");
	} else if (nvtx && *nvtx && m->recorder[0] && strcmp(nvtx, m->recorder) != 0) {
		row_fact(row, DOCTOR_LIMITED, "NVTX_INJECTION64_PATH is %s",
			 text_clean(clean, sizeof(clean), nvtx, 180));
		row_means(row, "that tool gets the program's NVTX ranges: no steps and phases in the report");
		row_command(row, "unset NVTX_INJECTION64_PATH");
	} else {
		row_fact(row, DOCTOR_OK, "none is set to be loaded into the program");
	}
}

void check_counters(const struct doctor_machine *m, struct doctor_row *row)
{
	char value[16];

	if (!root_field(m, "/proc/driver/nvidia/params", "RmProfilingAdminOnly", value, sizeof(value))) {
		row_fact(row, DOCTOR_OK, "not known, as the driver's parameters are not there");
		row_means(row, "tracing needs none: gpushim uses no performance counters");
	} else if (value[0] == '0') {
		row_fact(row, DOCTOR_OK, "for every user");
	} else {
		row_fact(row, DOCTOR_OK,
			 "performance counters are for administrators (NVreg_RestrictProfilingToAdminUsers)");
		row_means(row, "gpushim uses none: CUPTI traces kernels all the same");
	}
}
