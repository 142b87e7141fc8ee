# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark behind scripts/bench-hooks measures what it says: with the shim a call costs something, past it nothing."""

import re
import subprocess

import pytest

ROW = re.compile(r"^(.*?) +(-?[0-9.]+)   +(-?[0-9.]+) to +(-?[0-9.]+)$", re.M)


@pytest.fixture
def hook_cost(build, sim_env, tmp_path):
    def run(**env):
        sim_env.update(LD_LIBRARY_PATH=str(build / "bench"), GPUSHIM_OUT=str(tmp_path / "out"), **env)
        done = subprocess.run([build / "bench" / "hook_cost"], cwd=tmp_path, env=sim_env, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        return {row[0]: float(row[1]) for row in ROW.findall(done.stdout)}
    return run


def test_a_recorded_call_costs_something(hook_cost, shim, gpushim, tmp_path):
    ratios = hook_cost(LD_PRELOAD=str(shim))
    assert ratios["two reads of the counter"] == 1
    assert len(ratios) == 11, ratios
    assert min(ratios.values()) > 0.2, ratios
    info = subprocess.run([gpushim, "info", tmp_path / "out"], capture_output=True, text=True, timeout=60).stdout
    assert "complete: nothing dropped" in info


def test_without_a_recorder_there_is_no_difference(hook_cost):
    ratios = hook_cost()
    calls = {name: ratio for name, ratio in ratios.items() if name.startswith("cu") and name != "cuStreamSynchronize"}
    assert len(calls) == 8, ratios
    assert all(abs(ratio) < 0.5 for ratio in calls.values()), ratios
