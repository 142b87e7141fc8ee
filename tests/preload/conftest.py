# SPDX-License-Identifier: BSD-2-Clause
"""A recorder for these tests: it runs the programs of tests/workloads on the simulated driver."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "workloads"))

from recording import Recorder  # noqa: E402


@pytest.fixture(scope="session")
def recorder(build, shim, gpushim, tmp_path_factory) -> Recorder:
    return Recorder(build, shim, gpushim, tmp_path_factory.mktemp("runs"))
