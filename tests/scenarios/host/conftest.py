# SPDX-License-Identifier: BSD-2-Clause
"""What tests of host probes share: whether this machine has a way to watch, a folder on its disk, and the programs run under it."""

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest


@functools.cache
def why_not(gpushim, shim, how):
    """None, or one line: this machine, or this build, cannot be watched that way."""
    with tempfile.TemporaryDirectory(prefix="gpushim-way-") as folder:
        Path(folder).chmod(0o777)
        done = subprocess.run([str(gpushim), "run", "--host", how, "--out", f"{folder}/out", "--", "/bin/true"], cwd=folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[0]


@pytest.fixture
def needs(gpushim, shim):
    """needs("ebpf"): skips where that way is not to be had."""
    def insist(how):
        reason = why_not(gpushim, shim, how)
        if reason:
            pytest.skip(f"--host {how}: {reason}")
    return insist


@pytest.fixture
def disk():
    """A folder on the disk, every user's: /tmp may be none."""
    folder = Path(tempfile.mkdtemp(prefix="gpushim-lab-", dir="/var/tmp"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
