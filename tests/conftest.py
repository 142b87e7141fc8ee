# SPDX-License-Identifier: BSD-2-Clause
"""What every Python test shares: where the build is, an environment in which libcuda is the simulated driver, and a recorder."""

import os
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("workloads", "scenarios", "preload", "probes")]  # what tests of several folders use

from recording import Recorder  # noqa: E402


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def build() -> Path:
    """The build directory: $BUILD, else build."""
    return (ROOT / os.environ.get("BUILD", "build")).resolve()


@pytest.fixture(scope="session")
def cuda_include(build) -> Path:
    """The folder of cuda.h that the build found."""
    found = re.search(r"^CUDA_INC = (.*)$", (build / "setup.mk").read_text(), re.M)
    return ROOT / found[1]


def built(path: Path) -> Path:
    assert path.exists(), f"{path} is not built: make tests"
    return path


@pytest.fixture(scope="session")
def shim(build) -> Path:
    """libgpushim.so, for LD_PRELOAD."""
    return built(build / "libgpushim.so")


@pytest.fixture(scope="session")
def gpushim(build) -> Path:
    """The command line program."""
    return built(build / "gpushim")


@pytest.fixture
def modules(root, monkeypatch):
    """scripts/gpu_check importable; removed again afterwards, its module names are short."""
    monkeypatch.syspath_prepend(str(root / "scripts/gpu_check"))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def sim_env(build) -> dict:
    """A fresh environment in which libcuda.so.1 is simgpu; the test adds what it needs."""
    built(build / "simgpu" / "libcuda.so.1")
    drop = ("GPUSHIM", "SIMGPU_", "LD_PRELOAD", "LD_LIBRARY_PATH", "CUDA_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(drop)}
    env["LD_LIBRARY_PATH"] = str(build / "simgpu")
    return env


@pytest.fixture(scope="session")
def recorder(build, shim, gpushim, tmp_path_factory) -> Recorder:
    """Runs the programs of tests/workloads on the simulated driver."""
    return Recorder(build, shim, gpushim, tmp_path_factory.mktemp("runs"))
