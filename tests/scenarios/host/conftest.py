# SPDX-License-Identifier: BSD-2-Clause
"""What tests of host probes share: whether this machine has a way to watch, a folder on its disk, and the programs run under it."""

import shutil
import tempfile
from pathlib import Path

import pytest
from watching import why_not


@pytest.fixture
def needs(build):
    """needs("ebpf"): skips where this machine lacks what that way is made of."""
    def insist(how):
        reason = why_not(build, how)
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
