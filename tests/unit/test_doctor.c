/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks of `gpushim doctor`, on machines that are folders. */
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

#include "doctor.h"
#include "doctor_child.h"
#include "doctor_trials.h"

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

static void set_env(const char *name, const char *value)
{
	names[n_env] = name;
	values[n_env++] = value;
}

static void folders_of(char *path)
{
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(path, 0755);
		*slash = '/';
	}
}

static void put(const char *path, const char *text)
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

static void put_link(const char *path, const char *target)
{
	char whole[256];

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	folders_of(whole);
	unlink(whole);
	assert_int_equal(symlink(target, whole), 0);
}

static void take(const char *path)
{
	char whole[256];

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	assert_int_equal(remove(whole), 0);
}

static bool can(char why[256])
{
	(void)why;
	return true;
}

/* Everything is there and allowed. */
static int good_machine(void **state)
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
	strcpy(m.place.dir, "/home/u/gpushim-out");
	put("/sys/kernel/btf/vmlinux", "\x9f\xeb\x01");
	put("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
	put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
	put("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm \n");
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

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static int remove_machine(void **state)
{
	(void)state;
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- what is asserted ------------------------------------------------------------------------------- */

static const struct doctor_row *examine(const char *id)
{
	const struct doctor_row *row;

	doctor_examine(&d, &m);
	row = doctor_row(&d, id);
	assert_non_null(row);
	return row;
}

static void expect(const char *id, enum doctor_state state, const char *fact, const char *command)
{
	const struct doctor_row *row = examine(id);

	if (row->state != state || !strstr(row->fact, fact) || strcmp(row->command, command) != 0)
		fail_msg("%s: %s, \"%s\", \"%s\"; expected %s, \"%s\", \"%s\"", id, doctor_state_names[row->state],
			 row->fact, row->command, doctor_state_names[state], fact, command);
}

#define SETCAP "sudo setcap cap_bpf,cap_perfmon+ep /opt/gpushim/bin/gpushim"

static void no_caps(void)
{
	m.caps = m.caps_file = 0;
	m.bpf.error = EPERM;
}

static void test_a_good_machine(void **state)
{
	(void)state;
	doctor_examine(&d, &m);
	for (size_t i = 0; i < d.n_rows; i++)
		if (d.rows[i].state != DOCTOR_OK)
			fail_msg("%s: %s", d.rows[i].id, d.rows[i].fact);
	assert_true(d.can_record);
	assert_string_equal(d.level, "bursts");
	assert_int_equal(d.probes, DOCTOR_PROBES_EBPF);
	assert_string_equal(d.probes_why, "");
	expect("driver", DOCTOR_OK, "/usr/lib/libcuda.so.550.54.15, CUDA 12.4, kernel module 550.54.15", "");
	assert_string_equal(doctor_row(&d, "driver")->means, "8 devices");
	expect("run-directory", DOCTOR_OK, "/home/u/gpushim-out: ext4, 100.0 GiB free", "");
}

static void test_nothing_to_read(void **state)
{
	(void)state;
	m.root = "/nowhere/at/all";
	m.caps_known = false;
	m.caps = 0;
	m.bpf = m.probes = m.perf = m.memory = m.load = m.write = (struct doctor_trial){ 0 };
	doctor_examine(&d, &m);
	for (size_t i = 0; i < d.n_rows; i++)
		assert_string_not_equal(d.rows[i].fact, "");
	assert_false(d.can_record);
	assert_int_equal(d.probes, DOCTOR_PROBES_NONE);
	assert_int_equal(doctor_row(&d, "btf")->state, DOCTOR_MISSING);
	assert_int_equal(doctor_row(&d, "clock-source")->state, DOCTOR_LIMITED);
	assert_int_equal(doctor_row(&d, "seccomp")->state, DOCTOR_LIMITED);
}

static void test_kernel_versions(void **state)
{
	static const struct {
		const char *release;
		enum doctor_state state;
	} cases[] = { { "5.15.0", DOCTOR_OK },
		      { "5.14.21-150500", DOCTOR_MISSING },
		      { "4.18.0-513.el8", DOCTOR_MISSING },
		      { "5.4.0", DOCTOR_MISSING },
		      { "6.0", DOCTOR_OK },
		      { "10.1", DOCTOR_OK },
		      { "unknown", DOCTOR_LIMITED },
		      { "", DOCTOR_LIMITED } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		strcpy(m.uts.release, cases[i].release);
		expect("kernel", cases[i].state, cases[i].release, "");
		assert_int_equal(d.probes, cases[i].state == DOCTOR_MISSING ? DOCTOR_PROBES_PERF : DOCTOR_PROBES_EBPF);
	}
}

static void test_btf(void **state)
{
	(void)state;
	put("/sys/kernel/btf/vmlinux", "no BTF");
	expect("btf", DOCTOR_MISSING, "is no BTF", "");
	take("/sys/kernel/btf/vmlinux");
	expect("btf", DOCTOR_MISSING, "is not there", "");
	put("/.dockerenv", "");
	expect("btf", DOCTOR_MISSING, "is not there", "docker run -v /sys/kernel/btf:/sys/kernel/btf:ro IMAGE");
	assert_int_equal(d.probes, DOCTOR_PROBES_PERF);
}

static void test_capabilities_of_a_file(void **state)
{
	(void)state;
	no_caps();
	expect("capabilities", DOCTOR_MISSING, "neither CAP_BPF nor CAP_PERFMON", SETCAP);
	assert_int_equal(d.probes, DOCTOR_PROBES_PERF);
	assert_non_null(strstr(d.probes_why, "Operation not permitted"));
	m.caps = 1ull << DOCTOR_CAP_BPF;
	expect("capabilities", DOCTOR_MISSING, "CAP_BPF, not CAP_PERFMON", SETCAP);
	m.caps = 1ull << DOCTOR_CAP_SYS_ADMIN;
	expect("capabilities", DOCTOR_OK, "CAP_SYS_ADMIN", "");
	m.caps = CAPS;
	m.caps_file = CAPS;
	expect("capabilities", DOCTOR_OK, "its file has them", "");
}

static void test_a_path_that_a_shell_would_take_apart(void **state)
{
	(void)state;
	no_caps();
	strcpy(m.self, "/home/a user/it's/gpushim");
	expect("capabilities", DOCTOR_MISSING, "neither",
	       "sudo setcap cap_bpf,cap_perfmon+ep '/home/a user/it'\\''s/gpushim'");
}

static void test_capabilities_in_containers(void **state)
{
	(void)state;
	no_caps();
	m.caps_bounding = 0xa80425fb; /* Docker's */
	put("/.dockerenv", "");
	expect("capabilities", DOCTOR_MISSING, "neither", "docker run --cap-add BPF --cap-add PERFMON IMAGE");
	put("/run/.containerenv", "");
	expect("capabilities", DOCTOR_MISSING, "neither", "sudo podman run --cap-add BPF --cap-add PERFMON IMAGE");
	set_env("KUBERNETES_SERVICE_HOST", "10.0.0.1");
	examine("capabilities");
	assert_non_null(
		strstr(doctor_row(&d, "capabilities")->command, "\"capabilities\":{\"add\":[\"BPF\",\"PERFMON\"]}"));
	m.caps_bounding = UINT64_MAX; /* they could be had by a file, but for this: */
	put("/proc/self/status", "Tgid:\t12\nNoNewPrivs:\t1\nSeccomp:\t0\n");
	expect("capabilities", DOCTOR_MISSING, "neither", "");
	assert_non_null(strstr(doctor_row(&d, "capabilities")->means, "no_new_privs"));
}

static void test_a_user_namespace(void **state)
{
	(void)state;
	put("/proc/self/uid_map", "0 1000 1\n");
	m.bpf.error = EPERM;
	expect("capabilities", DOCTOR_MISSING, "in its user namespace only", "");
	expect("container", DOCTOR_LIMITED, "a user namespace of its own", "");
	put("/proc/sys/kernel/perf_event_paranoid", "3\n");
	expect("perf-event-paranoid", DOCTOR_LIMITED, "is 3", "sudo sysctl kernel.perf_event_paranoid=2");
}

static void test_a_filter_forbids_bpf(void **state)
{
	(void)state;
	put("/.dockerenv", "");
	put("/proc/self/status", "Tgid:\t12\nNoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n");
	m.bpf.error = EPERM;
	expect("ebpf-load", DOCTOR_MISSING, "Operation not permitted",
	       "docker run --cap-add BPF --cap-add PERFMON --security-opt seccomp=unconfined IMAGE");
	expect("seccomp", DOCTOR_LIMITED, "1 filter in force", "");
	m.bpf = (struct doctor_trial){ .signal = SIGSYS };
	expect("ebpf-load", DOCTOR_MISSING, "was killed by Bad system call",
	       "docker run --cap-add BPF --cap-add PERFMON --security-opt seccomp=unconfined IMAGE");
	m.bpf = (struct doctor_trial){ .timeout = true };
	expect("ebpf-load", DOCTOR_MISSING, "did not come back",
	       "docker run --cap-add BPF --cap-add PERFMON --security-opt seccomp=unconfined IMAGE");
	put("/proc/self/status", "Tgid:\t12\nSeccomp:\t2\nSeccomp_filters:\t3\n");
	expect("seccomp", DOCTOR_LIMITED, "3 filters in force", "");
}

static void test_probes_that_do_not_load(void **state)
{
	(void)state;
	m.probes.error = EPERM;
	strcpy(m.ebpf.why, "sched_switch cannot be watched by eBPF: \033[31mno such tracepoint");
	expect("ebpf-probes", DOCTOR_MISSING, "eBPF: ?[31mno such tracepoint", "");
	assert_int_equal(d.probes, DOCTOR_PROBES_PERF);
	assert_string_equal(d.probes_why, "sched_switch cannot be watched by eBPF: ?[31mno such tracepoint");
	m.bpf.error = EPERM; /* then that is the reason, once */
	m.caps = m.caps_file = 0;
	expect("ebpf-probes", DOCTOR_MISSING, "eBPF: ?[31mno such tracepoint", SETCAP);
	assert_string_equal(d.probes_why, "a tracing program of two instructions was refused: Operation not permitted");
}

static void test_a_build_without_ebpf(void **state)
{
	(void)state;
	m.ebpf.can = NULL;
	expect("ebpf-build", DOCTOR_MISSING, "no eBPF probes",
	       "sudo apt-get install clang bpftool libbpf-dev && make clean all");
	assert_int_equal(d.probes, DOCTOR_PROBES_PERF);
	assert_string_equal(d.probes_why, "this build has no eBPF probes");
}

static void test_paranoid(void **state)
{
	(void)state;
	no_caps();
	for (int value = -1; value <= 4; value++) {
		char text[8];

		snprintf(text, sizeof(text), "%d\n", value);
		put("/proc/sys/kernel/perf_event_paranoid", text);
		m.perf.error = value > 2 ? EACCES : 0;
		snprintf(text, sizeof(text), "is %d", value);
		expect("perf-event-paranoid", value > 2 ? DOCTOR_LIMITED : DOCTOR_OK, text,
		       value > 2 ? "sudo sysctl kernel.perf_event_paranoid=2" : "");
		assert_int_equal(d.probes, value > 2 ? DOCTOR_PROBES_PROC : DOCTOR_PROBES_PERF);
		assert_int_equal(doctor_row(&d, "perf-open")->state, value > 2 ? DOCTOR_MISSING : DOCTOR_OK);
	}
	m.caps = CAPS;
	expect("perf-event-paranoid", DOCTOR_OK, "is 4", "");
	take("/proc/sys/kernel/perf_event_paranoid");
	expect("perf-event-paranoid", DOCTOR_LIMITED, "has no kernel.perf_event_paranoid", "");
	put("/proc/sys/kernel/perf_event_paranoid", "many\n");
	expect("perf-event-paranoid", DOCTOR_LIMITED, "Invalid argument", "");
}

static void test_ptrace_scope(void **state)
{
	static const char *const commands[] = { "", "sudo sysctl kernel.yama.ptrace_scope=0",
						"sudo sysctl kernel.yama.ptrace_scope=0", "" };

	(void)state;
	expect("ptrace-scope", DOCTOR_OK, "no Yama", "");
	for (int value = 0; value < 4; value++) {
		char text[8];

		snprintf(text, sizeof(text), "%d\n", value);
		put("/proc/sys/kernel/yama/ptrace_scope", text);
		snprintf(text, sizeof(text), "is %d", value);
		expect("ptrace-scope", value ? DOCTOR_LIMITED : DOCTOR_OK, text, commands[value]);
	}
}

static void test_lockdown(void **state)
{
	(void)state;
	put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	expect("lockdown", DOCTOR_OK, "integrity", "");
	put("/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	expect("lockdown", DOCTOR_MISSING, "confidentiality", "");
	put("/sys/kernel/security/lockdown", "]][[");
	expect("lockdown", DOCTOR_LIMITED, "not understood", "");
	take("/sys/kernel/security/lockdown");
	expect("lockdown", DOCTOR_OK, "none that can be seen", "");
}

static void test_clock_source(void **state)
{
	static const char now[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource",
			  all[] = "/sys/devices/system/clocksource/clocksource0/available_clocksource";

	(void)state;
	put(now, "hpet\n");
	expect("clock-source", DOCTOR_LIMITED, "hpet",
	       "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource");
	put(all, "hpet acpi_pm\n");
	expect("clock-source", DOCTOR_LIMITED, "hpet", "");
	put(now, "\033[2Jtsc\n");
	expect("clock-source", DOCTOR_LIMITED, "?[2Jtsc", "");
}

static void test_proc(void **state)
{
	(void)state;
	put("/proc/self/mounts", "proc /proc proc rw,hidepid=2,gid=4 0 0\n");
	expect("proc", DOCTOR_LIMITED, "mounted with hidepid=2", "sudo mount -o remount,hidepid=0 /proc");
	m.uid = 0;
	expect("proc", DOCTOR_OK, "can be read", "");
	put("/proc/self/mounts", "proc /proc proc rw,hidepid=invisible,subset=pid 0 0\n");
	expect("proc", DOCTOR_LIMITED, "subset=pid", "");
	take("/proc/self/status");
	m.ebpf.can = NULL;
	expect("proc", DOCTOR_MISSING, "not there", "sudo mount -t proc proc /proc");
	assert_int_equal(d.probes, DOCTOR_PROBES_NONE);
}

static void test_pressure(void **state)
{
	(void)state;
	take("/proc/pressure/cpu");
	put("/proc/pressure/memory", "");
	expect("pressure", DOCTOR_LIMITED, "No such file", "");
	take("/proc/pressure/memory");
	take("/proc/pressure");
	expect("pressure", DOCTOR_LIMITED, "/proc/pressure is not there", "");
}

static void test_containers(void **state)
{
	(void)state;
	expect("container", DOCTOR_OK, "none", "");
	put("/proc/1/cgroup", "12:cpu:/docker/0123abc\n0::/\n");
	expect("container", DOCTOR_OK, "Docker", "");
	put("/proc/1/cgroup", "0::/kubepods.slice/kubepods-burstable.slice\n");
	put_link("/proc/self/ns/pid", "pid:[4026532501]");
	expect("container", DOCTOR_OK, "Kubernetes; a PID namespace of its own", "");
	put("/proc/1/cgroup", "0::/\n");
	set_env("container", "systemd-nspawn");
	expect("container", DOCTOR_OK, "a container; a PID namespace", "");
}

static void test_control_groups(void **state)
{
	(void)state;
	expect("cgroup", DOCTOR_OK, "v2, group /user.slice/user-1000.slice", "");
	put("/proc/self/cgroup", "9:name=systemd:/\n2:cpu,cpuacct:/batch/job7\n0::/\n");
	expect("cgroup", DOCTOR_OK, "v1 beside v2, CPU group /batch/job7", "");
	put("/proc/self/cgroup", "9:name=systemd:/\n");
	expect("cgroup", DOCTOR_LIMITED, "v1, without a controller of CPU time", "");
	put("/proc/self/cgroup", "");
	expect("cgroup", DOCTOR_LIMITED, "not known", "");
}

static void test_the_driver(void **state)
{
	(void)state;
	put("/proc/driver/nvidia/version",
	    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.10  Release Build\n");
	m.driver.init = 803;
	expect("driver", DOCTOR_LIMITED, "CUDA 12.4, kernel module 570.86.10", "");
	m.driver.path[0] = 0;
	strcpy(m.driver.why, "libcuda.so.1: file too short");
	expect("driver", DOCTOR_MISSING, "libcuda.so.1 cannot be loaded: file too short", "sudo ldconfig");
	assert_false(d.can_record);
	m.load = (struct doctor_trial){ .signal = SIGSEGV };
	expect("driver", DOCTOR_MISSING, "was killed by Segmentation fault", "sudo ldconfig");
	m.load = (struct doctor_trial){ .done = true };
	m.driver.can_load = false;
	expect("driver", DOCTOR_LIMITED, "static", "");
	assert_true(d.can_record);
}

static void test_levels(void **state)
{
	(void)state;
	set_env("CUDA_DEVICE_MAX_CONNECTIONS", "1");
	expect("device-level", DOCTOR_LIMITED, "level host", "unset CUDA_DEVICE_MAX_CONNECTIONS");
	assert_string_equal(d.level, "host");
	n_env = 0;
	set_env("GPUSHIM_DEVICE", "edges");
	expect("device-level", DOCTOR_OK, "edges", "");
	assert_string_equal(d.level, "edges");
	n_env = 0;
	set_env("GPUSHIM_DEVICE", "best");
	expect("device-level", DOCTOR_LIMITED, "GPUSHIM_DEVICE=best is no level", "unset GPUSHIM_DEVICE");
	assert_string_equal(d.level, "bursts");
	n_env = 0;
	set_env("GPUSHIM_DEVICE", "cupti");
	examine("device-level");
	assert_string_equal(d.level, "cupti");
	set_env("CUDA_INJECTION64_PATH", "/opt/nsight/libToolsInjection64.so");
	expect("other-tools", DOCTOR_LIMITED, "/opt/nsight/libToolsInjection64.so", "unset CUDA_INJECTION64_PATH");
	assert_string_equal(d.level, "bursts");
	set_env("GPUSHIM", "off");
	expect("device-level", DOCTOR_MISSING, "GPUSHIM=off", "unset GPUSHIM");
	assert_string_equal(d.level, "off");
	assert_false(d.can_record);
}

static void test_other_tools(void **state)
{
	char path[128];
	int fd;

	(void)state;
	set_env("NVTX_INJECTION64_PATH", "/opt/gpushim/lib/libgpushim.so");
	expect("other-tools", DOCTOR_OK, "none", "");
	n_env = 0;
	set_env("NVTX_INJECTION64_PATH", "/opt/other.so");
	expect("other-tools", DOCTOR_LIMITED, "NVTX_INJECTION64_PATH is /opt/other.so", "unset NVTX_INJECTION64_PATH");
	put("/tmp/nsight-compute-lock", "");
	expect("other-tools", DOCTOR_LIMITED, "NVTX_INJECTION64_PATH", "unset NVTX_INJECTION64_PATH");
	snprintf(path, sizeof(path), "%s/tmp/nsight-compute-lock", root);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	expect("other-tools", DOCTOR_LIMITED, "Nsight Compute is at work", "");
	close(fd);
}

static void test_the_run_directory(void **state)
{
	(void)state;
	m.place.type = 0x6969;
	expect("run-directory", DOCTOR_LIMITED, "nfs", "export GPUSHIM_OUT=/local/dir/gpushim-out");
	m.place.type = 0xef53;
	m.place.free_bytes = 1ull << 30;
	expect("run-directory", DOCTOR_LIMITED, "1.0 GiB free", "export GPUSHIM_LIMIT=512M");
	m.place.free_bytes = 1000000;
	expect("run-directory", DOCTOR_MISSING, "free", "export GPUSHIM_OUT=/dir/with/more/room");
	assert_false(d.can_record);
	m.write = (struct doctor_trial){ .done = true, .error = EROFS };
	m.place.step = "to make a file";
	expect("run-directory", DOCTOR_MISSING, "to make a file was refused: Read-only file system",
	       "export GPUSHIM_OUT=/tmp/gpushim-out");
	m.write = (struct doctor_trial){ .timeout = true };
	expect("run-directory", DOCTOR_MISSING, "did not come back", "export GPUSHIM_OUT=/tmp/gpushim-out");
}

static void test_python(void **state)
{
	(void)state;
	set_env("PATH", "/none:relative:/usr/bin:/venv/bin");
	expect("python", DOCTOR_OK, "none found", "");
	put("/usr/bin/python3.11", "");
	put("/usr/bin/python3.11-config", "");
	put_link("/usr/bin/python3", "python3.11");
	expect("python", DOCTOR_OK, "3.11 in PATH", "");
	put("/opt/cpython/python3.9", "");
	put_link("/venv/bin/python", "../../opt/cpython/python3.9");
	expect("python", DOCTOR_LIMITED, "3.9, 3.11 in PATH", "");
	put("/usr/bin/python3.99999999999", "");
	expect("python", DOCTOR_LIMITED, "3.9, 3.11 in PATH", "");
}

/* ---- the trials ------------------------------------------------------------------------------------- */

static int dies(void *answer)
{
	(void)answer;
	raise(SIGSYS);
	return 0;
}

static int hangs(void *answer)
{
	*(int *)answer = 7;
	pause();
	return 0;
}

static int answers(void *answer)
{
	puts("a library's own words");
	*(int *)answer += 1;
	return ENOENT;
}

static void test_a_child_that_dies_or_hangs(void **state)
{
	struct doctor_trial trial;
	int value = 41;

	(void)state;
	doctor_child(&trial, answers, &value, sizeof(value), 10);
	assert_true(trial.done);
	assert_int_equal(trial.error, ENOENT);
	assert_int_equal(value, 42);
	doctor_child(&trial, dies, NULL, 0, 10);
	assert_false(trial.done);
	assert_int_equal(trial.signal, SIGSYS);
	doctor_child(&trial, hangs, &value, sizeof(value), 1);
	assert_true(trial.timeout && !trial.done);
	assert_int_equal(value, 42);
}

static void test_a_place_is_left_as_it_was(void **state)
{
	char dir[128];
	struct stat before, after;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/proc/new/deeper", root);
	doctor_try_place(&m, dir);
	assert_true(m.write.done && m.write.error == 0);
	assert_string_equal(m.place.dir, dir);
	assert_int_equal(access(dir, F_OK), -1);
	assert_int_equal(strlen(m.place.there), strlen(root) + strlen("/proc"));
	assert_int_equal(stat(root, &before), 0);
	doctor_try_place(&m, root);
	assert_true(m.write.done && m.write.error == 0 && m.place.stat_done && m.place.free_bytes > 0);
	assert_int_equal(stat(root, &after), 0);
	assert_int_equal(before.st_nlink, after.st_nlink);
	snprintf(dir, sizeof(dir), "%s/proc/self/status/under-a-file", root);
	doctor_try_place(&m, dir);
	assert_int_equal(m.write.error, ENOTDIR);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, good_machine, remove_machine)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_good_machine),
		TEST(test_nothing_to_read),
		TEST(test_kernel_versions),
		TEST(test_btf),
		TEST(test_capabilities_of_a_file),
		TEST(test_a_path_that_a_shell_would_take_apart),
		TEST(test_capabilities_in_containers),
		TEST(test_a_user_namespace),
		TEST(test_a_filter_forbids_bpf),
		TEST(test_probes_that_do_not_load),
		TEST(test_a_build_without_ebpf),
		TEST(test_paranoid),
		TEST(test_ptrace_scope),
		TEST(test_lockdown),
		TEST(test_clock_source),
		TEST(test_proc),
		TEST(test_pressure),
		TEST(test_containers),
		TEST(test_control_groups),
		TEST(test_the_driver),
		TEST(test_levels),
		TEST(test_other_tools),
		TEST(test_the_run_directory),
		TEST(test_python),
		TEST(test_a_child_that_dies_or_hangs),
		TEST(test_a_place_is_left_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
