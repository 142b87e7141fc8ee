# SPDX-License-Identifier: BSD-2-Clause
"""scripts/setup.sh on a machine that has next to nothing: what it asks apt-get for, and how often."""

import os
import subprocess

import pytest

TOOLS = ("bash", "cat", "cut", "dirname", "env", "grep", "head", "mkdir", "python3", "rm", "sed", "tail", "touch", "tr")


def executable(path, text):
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path):
    """A compiler that finds no header, CUDA's headers where setup.sh takes them, and an apt-get that writes down what it is asked."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in TOOLS:
        (folder / tool).symlink_to(next(f"{place}/{tool}" for place in ("/bin", "/usr/bin") if os.path.exists(f"{place}/{tool}")))
    executable(folder / "cc", "exit 1")
    executable(folder / "id", "echo 0")
    executable(folder / "apt-get", f'echo "$*" >>{tmp_path}/asked\nfor refused in $REFUSED; do [[ " $* " != *" $refused "* ]] || exit 100; done')
    include = tmp_path / "cuda" / "include"
    (include / "nvtx3").mkdir(parents=True)
    (include / "cuda.h").write_text("#define CUDA_VERSION 13000\n")
    for name in ("cudaTypedefs.h", "cudaProfiler.h", "nvtx3/nvToolsExt.h"):
        (include / name).touch()
    return tmp_path


def set_up(machine, root, refused="", job="build"):
    env = {"PATH": str(machine / "bin"), "BUILD": str(machine / "build"), "CUDA_HOME": str(machine / "cuda"), "REFUSED": refused, "CC": "cc"}
    done = subprocess.run(["/bin/bash", root / "scripts" / "setup.sh", job], env=env, capture_output=True, text=True, timeout=60)
    asked = (machine / "asked").read_text().splitlines()
    assert asked[0] == "update" and not any(line == "update" for line in asked[1:])
    return done, [set(line.split()) - {"install", "-y", "--no-install-recommends"} for line in asked[1:]]


WISHED = {"clang", "bpftool", "libbpf-dev", "libfuse3-dev", "libisal-dev"}


def test_all_is_asked_for_at_once(machine, root):
    done, asked = set_up(machine, root)
    assert done.returncode == 0, done.stderr
    assert len(asked) == 1 and asked[0] >= WISHED | {"g++", "libyajl-dev", "libsqlite3-dev", "libdw-dev", "libcmocka-dev", "uthash-dev"}
    assert "gcc" not in asked[0] and f"CUDA_INC = {machine}/cuda/include\n" in (machine / "build" / "setup.mk").read_text()


def test_what_is_only_wished_for_may_be_missing(machine, root):
    done, asked = set_up(machine, root, refused="bpftool")
    assert done.returncode == 0 and "setup: without the tests on a FUSE file system" in done.stdout
    assert asked[0] >= WISHED and asked[1] == asked[0] - WISHED and asked[2:] == [{"clang", "bpftool", "libbpf-dev"}, {"libfuse3-dev"}, {"libisal-dev"}]


def test_what_is_needed_may_not(machine, root):
    done, asked = set_up(machine, root, refused="libdw-dev")
    assert done.returncode == 1 and "setup: apt-get failed; see " in done.stderr and len(asked) == 2


def test_without_a_browser_the_tests_go_on(machine, root):
    """Nor is selenium installed for nothing; the tests of the page are skipped with what page.log says."""
    done, asked = set_up(machine, root, refused="chromium", job="page")
    assert done.returncode == 0 and asked[0] == {"chromium", "chromium-driver"}
    assert (machine / "build/page.log").read_text() in done.stdout and "no chromium" in done.stdout
    assert not (machine / "build/setup-page").exists()
