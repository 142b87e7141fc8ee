# SPDX-License-Identifier: BSD-2-Clause
"""What the laboratory's tests share: its modules, a folder on the disk."""

import shutil
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "host")]


@pytest.fixture
def disk():
    """Every user's: /tmp may be none."""
    folder = Path(tempfile.mkdtemp(prefix="gpushim-lab-", dir="/var/tmp"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
