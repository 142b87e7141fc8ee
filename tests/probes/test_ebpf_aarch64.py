# SPDX-License-Identifier: BSD-2-Clause
"""What the programs read of a kernel for aarch64, by a description of its structures: the loader fits them to it here as it would there."""

import os
import shutil
import subprocess

import pytest

# As include/asm of that processor has it: 64 bits, which are also two halves.
KERNEL = """
struct thread_info {
	unsigned long flags;
	unsigned long ttbr0;
	union { unsigned long long preempt_count; struct { unsigned count, need_resched; } preempt; };
	unsigned cpu;
};
struct task_struct { struct thread_info thread_info; unsigned __state; };
struct task_struct task;
"""

PROGRAM = """
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "shim/probes/kernel.h"

struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, unsigned); __type(value, char[128]); } room SEC(".maps");
char LICENSE[] SEC("license") = "GPL";

SEC("socket")
int count(void *packet)
{
	unsigned zero = 0;
	struct task_struct *task = bpf_map_lookup_elem(&room, &zero);

	return task && bpf_core_field_exists(task->thread_info.preempt_count) ? task->thread_info.preempt_count & 0xffffff : -1;
}
"""

LOADER = """
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct bpf_object_open_opts how = { .sz = sizeof(how), .btf_custom_path = argv[2] };
	struct bpf_object *o = bpf_object__open_file(argv[1], &how);
	unsigned long long task[16] = { [2] = 0x100010002ull };
	char packet[64] = { 0 };
	struct bpf_test_run_opts run = { .sz = sizeof(run), .data_in = packet, .data_size_in = sizeof(packet), .repeat = 1 };
	unsigned zero = 0;

	if (argc != 3 || !o || bpf_object__load(o))
		return 1;
	if (bpf_map_update_elem(bpf_object__find_map_fd_by_name(o, "room"), &zero, task, BPF_ANY) ||
	    bpf_prog_test_run_opts(bpf_program__fd(bpf_object__find_program_by_name(o, "count")), &run))
		return 2;
	printf("%x", run.retval);
	return 0;
}
"""


def clang(build):
    """The build's, or why not."""
    name = shutil.which(os.environ.get("CLANG", "clang"))
    if not name or not (build / "ebpf" / "host.bpf.o").exists():
        pytest.skip("this build has no eBPF")
    return name


def compile_for(machine, source, out, root, build):
    multiarch = subprocess.run(["cc", "-print-multiarch"], capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run([clang(build), "-target", "bpf", f"-D__TARGET_ARCH_{machine}", "-ffreestanding", "-O2", "-g", "-Werror", "-iquote", root,
                    "-idirafter", f"/usr/include/{multiarch}", "-c", "-o", out, source], check=True)


def test_the_programs_compile_for_it(root, build, tmp_path):
    compile_for("arm64", root / "shim/probes/host.bpf.c", tmp_path / "host.o", root, build)


def test_the_preemption_count_is_half_of_a_field(root, build, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    for name, text in (("kernel.c", KERNEL), ("program.c", PROGRAM), ("loader.c", LOADER)):
        (tmp_path / name).write_text(text)
    compile_for("arm64", tmp_path / "kernel.c", tmp_path / "kernel.o", root, build)
    compile_for("arm64", tmp_path / "program.c", tmp_path / "program.o", root, build)
    subprocess.run(["cc", "-o", tmp_path / "loader", tmp_path / "loader.c", "-lbpf"], check=True)
    done = subprocess.run([tmp_path / "loader", tmp_path / "program.o", tmp_path / "kernel.o"], capture_output=True, text=True)
    if "Operation not permitted" in done.stderr:
        pytest.skip("eBPF is not permitted here")
    assert (done.returncode, done.stdout) == (0, "10002"), done.stderr
