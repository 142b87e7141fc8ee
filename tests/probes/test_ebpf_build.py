# SPDX-License-Identifier: BSD-2-Clause
"""A build without clang: everything but eBPF is there, and one line says so."""

import os
import shutil
import subprocess


def test_build_without_clang(root, build, tmp_path):
    shutil.copy(build / "setup.mk", tmp_path / "setup.mk")
    (tmp_path / "use.c").write_text("""
#include "shim/probes/ebpf.h"
#include <stdio.h>
int main(void)
{
	char why[256];
	printf("%d %d %s", backend_ebpf == NULL, ebpf_can(why), why);
}
""")
    made = [f"BUILD={tmp_path}", "CLANG=/nonexistent", f"{tmp_path}/libprobes.a"]
    done = subprocess.run(["make", "-C", root, "-j2", *made], capture_output=True, text=True,
                          env={k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))})
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stdout.splitlines() + done.stderr.splitlines() if "eBPF" in line]
    assert said == ["  without host probes by eBPF: missing /nonexistent"]
    use = tmp_path / "use"
    subprocess.run(["cc", "-iquote", root, "-o", use, tmp_path / "use.c", tmp_path / "libprobes.a", "-lz", "-lpthread"], check=True)
    assert subprocess.run([use], capture_output=True, text=True).stdout == \
        "1 0 this build has no eBPF: clang, bpftool and libbpf-dev were not there"
