# SPDX-License-Identifier: BSD-2-Clause
"""Small programs with a known course, followed by eBPF; their records as they lie in the file."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from collecting import Runs
from following import Follow
from watching import why_not


@pytest.fixture
def disk():
    """A folder on a disk, which /tmp need not be, and everybody's."""
    folder = Path(tempfile.mkdtemp(prefix="gpushim-probes-", dir="/var/tmp"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def follow(gpushim, build, disk):
    reason = why_not(build, "ebpf")
    if reason:
        pytest.skip(f"not by eBPF here: {reason}")
    return Follow(gpushim, disk)


@pytest.fixture
def run(gpushim, recorder, tmp_path):
    return Runs(gpushim, recorder, tmp_path)


@pytest.fixture(params=["ebpf", "perf", "proc"])
def way(request, build):
    reason = why_not(build, request.param)
    if reason:
        pytest.skip(reason)
    return request.param


@pytest.fixture
def cold(disk):
    """A file of 16 MiB that is on the disk alone."""
    path = disk / "cold.bin"
    path.write_bytes(os.urandom(16 << 20))
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
    return path


@pytest.fixture
def two_capabilities(gpushim, disk):
    """A copy of the program that may load eBPF and nothing else."""
    if not shutil.which("setcap"):
        pytest.skip("no setcap here")
    copy = disk / "gpushim"
    shutil.copy(gpushim, copy)
    copy.chmod(0o755)
    if subprocess.run(["setcap", "cap_bpf,cap_perfmon+ep", copy]).returncode:
        pytest.skip("this file system keeps no capabilities")
    return copy
