/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks of `gpushim doctor`: what confines host probes. */
#include "doctor_machine.h"

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
	expect("run-directory", DOCTOR_OK, "/data/gpushim-out: ext4, 100.0 GiB free", "");
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
	strcpy(m.self, "/opt/a user/it's/gpushim");
	expect("capabilities", DOCTOR_MISSING, "neither",
	       "sudo setcap cap_bpf,cap_perfmon+ep '/opt/a user/it'\\''s/gpushim'");
}

static void test_a_command_does_not_steer_the_terminal(void **state)
{
	const struct report_style style = { .columns = 120 };
	char *page = NULL;
	size_t size;
	FILE *out = open_memstream(&page, &size);

	(void)state;
	no_caps();
	strcpy(m.self, "/opt/\033[2J/gpushim");
	doctor_examine(&d, &m);
	doctor_text(out, &d, &style);
	fclose(out);
	assert_null(strchr(page, '\033'));
	assert_non_null(strstr(page, "cap_perfmon+ep '/opt/?[2J/gpushim'"));
	free(page);
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
	       "echo " COUNTER " | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource");
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
		TEST(test_a_command_does_not_steer_the_terminal),
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
