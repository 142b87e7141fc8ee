# SPDX-License-Identifier: BSD-2-Clause
"""Programs by others, unmodified, from tests/clients/requirements.txt."""

import importlib.util

import pytest


def need(package, build):
    """Skips where the package could not be had."""
    if importlib.util.find_spec(package) is None:
        log = build / "clients.log"
        reason = log.read_text().strip().splitlines()[-1:] if log.exists() else []
        pytest.skip(f"{package} is not installed (scripts/setup.sh clients): {''.join(reason)}")


@pytest.fixture(scope="session")
def tinygrad(recorder, build):
    """run(mode, *args, ...): tinygrad_train.py on the simulated driver."""
    need("tinygrad", build)
    return recorder.run_tinygrad
