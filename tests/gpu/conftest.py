# SPDX-License-Identifier: BSD-2-Clause
"""scripts/gpu_check importable while a test runs; its module names are short, so they are gone again afterwards."""

import sys

import pytest


@pytest.fixture
def modules(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "scripts/gpu_check"))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]
