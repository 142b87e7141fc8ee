/* SPDX-License-Identifier: BSD-2-Clause */
#include "doctor_trials.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "doctor_child.h"

#define SECONDS 5

/* r0 = 0; exit. Of a tracing type: others are allowed to more. */
static int load_program(void *answer)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;

	(void)answer;
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	attr.insns = (uintptr_t)code;
	attr.insn_cnt = sizeof(code) / sizeof(code[0]);
	attr.license = (uintptr_t) "Dual BSD/GPL";
	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr)) < 0 ? errno : 0;
}

static int load_probes(void *answer)
{
	struct doctor_ebpf *p = answer;

	return p->can(p->why) ? 0 : EPERM;
}

/* As perf's probes do it: an event that never counts, for the kernel's word of each switch, inherited by children. */
static int open_event(void *answer)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.disabled = 1,
		.inherit = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.sample_id_all = 1,
		.context_switch = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	(void)answer;
	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) < 0 ? errno : 0;
}

static int read_own_memory(void *answer)
{
	static const char text[] = "stack";
	char copy[sizeof(text)] = "";
	struct iovec to = { copy, sizeof(copy) }, from = { (void *)text, sizeof(text) };
	ssize_t n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

	(void)answer;
	if (n < 0)
		return errno;
	return (size_t)n == sizeof(text) && memcmp(copy, text, sizeof(text)) == 0 ? 0 : EIO;
}

static void read_caps(struct doctor_machine *m)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (syscall(SYS_capget, &head, data) == 0) {
		m->caps = data[0].effective | (uint64_t)data[1].effective << 32;
		m->caps_known = true;
	}
	for (int cap = 0; cap < 64; cap++) {
		int has = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (has < 0)
			break;
		m->caps_bounding |= (uint64_t)has << cap;
	}
}

static void read_file_caps(struct doctor_machine *m)
{
	struct vfs_ns_cap_data data;
	ssize_t n = m->self[0] ? getxattr(m->self, "security.capability", &data, sizeof(data)) : -1;

	if (n >= (ssize_t)sizeof(struct vfs_cap_data))
		m->caps_file = data.data[0].permitted | (uint64_t)data.data[1].permitted << 32;
}

static void find_self(struct doctor_machine *m)
{
	ssize_t n = readlink("/proc/self/exe", m->self, sizeof(m->self) - 1);
	const char *run = (const char *)getauxval(AT_EXECFN);

	m->self[n < 0 ? 0 : n] = 0;
	if (n < 0 && run && *run == '/')
		snprintf(m->self, sizeof(m->self), "%s", run);
}

void doctor_trials(struct doctor_machine *m, const char *dir)
{
	uname(&m->uts);
	m->uid = geteuid();
	m->secure = getauxval(AT_SECURE) != 0;
	find_self(m);
	read_caps(m);
	read_file_caps(m);
	doctor_child(&m->bpf, load_program, NULL, 0, SECONDS);
	if (m->ebpf.can)
		doctor_child(&m->probes, load_probes, &m->ebpf, sizeof(m->ebpf), 4 * SECONDS);
	doctor_child(&m->perf, open_event, NULL, 0, SECONDS);
	doctor_child(&m->memory, read_own_memory, NULL, 0, SECONDS);
	doctor_try_place(m, dir);
	doctor_try_driver(m);
}
