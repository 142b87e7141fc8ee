# SPDX-License-Identifier: BSD-2-Clause
"""Programs by others, unmodified, from tests/clients/requirements.txt."""

import importlib
import sys

import pytest


def need(package, build):
    """Skips where the package could not be had."""
    try:
        importlib.import_module(package)
    except ImportError:
        log = build / "clients.log"
        reason = log.read_text().strip().splitlines()[-1:] if log.exists() else []
        pytest.skip(f"{package} is not installed (scripts/setup.sh clients): {''.join(reason)}")


@pytest.fixture(scope="session")
def tinygrad(recorder, build):
    """run(mode, *args, ...): tinygrad_train.py on the simulated driver."""
    need("tinygrad", build)
    return recorder.run_tinygrad


@pytest.fixture(scope="session")
def bindings(recorder, build):
    """run(*sections, ...): bindings_driver.py on two simulated devices."""
    need("cuda.bindings", build)

    def run(*sections, env=None, **how):
        return recorder.run(recorder.command("bindings_driver.py", *sections), env={"SIMGPU_DEVICES": 2, **(env or {})}, **how)

    return run


@pytest.fixture(scope="session")
def drjit(recorder, build):
    """The command that runs drjit_fit.py."""
    need("drjit", build)
    return recorder.command("drjit_fit.py")


@pytest.fixture(scope="session")
def script(recorder, build):
    """run(text): a Python script that annotates itself with the nvtx package; nobody else's tool has NVTX's slot."""
    need("nvtx", build)
    return lambda text: recorder.run([sys.executable, "-c", text], env={"NVTX_INJECTION64_PATH": None})


@pytest.fixture(scope="session")
def outcome():
    """What a user sees of a run."""
    return lambda run: (run.status, run.stdout, run.stderr)
