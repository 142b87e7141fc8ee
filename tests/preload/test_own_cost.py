# SPDX-License-Identifier: BSD-2-Clause
"""The recorder measures its own time: what it reports is what a program can measure from outside."""

import json
import re
import subprocess

import pytest


@pytest.fixture
def own_cost(build, shim, gpushim, sim_env, tmp_path):
    """Runs a program under the shim; returns what it printed, what the report says of our cost, and how many calls it has."""
    def run(*command, libraries="simgpu", **env):
        sim_env.update(LD_LIBRARY_PATH=str(build / libraries), LD_PRELOAD=str(shim), GPUSHIM_OUT=str(tmp_path / "out"), **env)
        done = subprocess.run(command, env=sim_env, cwd=tmp_path, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        report = subprocess.run([gpushim, "report", "--json", tmp_path / "out"], capture_output=True, text=True, timeout=60)
        answer = json.loads(report.stdout)
        return done.stdout, answer["self"], sum(answer["calls"].values())
    return run


def test_calls_timed_stand_for_all(build, own_cost):
    _, cost, calls = own_cost(build / "workloads" / "client_linked")
    assert 0 <= calls - cost["calls"] < 128  # those after the last one that was timed
    assert calls / 64 / 2 < cost["calls_timed"] < calls / 64 * 2
    assert cost["injected_ns"] > 0 and cost["attach_ns"] > 0
    parts = cost["calls_ns"] + cost["injected_ns"] + cost["attach_ns"]
    wall = parts / cost["share_of_wall_held_up"]
    assert cost["share_of_wall"] == pytest.approx((parts + cost["own_threads_ns"]) / wall, rel=1e-6)


def test_at_level_host_no_time_goes_to_calls_of_ours(build, own_cost):
    _, cost, _ = own_cost(build / "workloads" / "client_linked", GPUSHIM_DEVICE="host")
    assert cost["injected_ns"] == 0 and cost["calls_ns"] > 0


def test_a_launch_costs_what_the_benchmark_sees(build, own_cost):
    """Launches on a driver that does nothing, which the program times itself: the same on the average."""
    output, cost, calls = own_cost(build / "bench" / "hook_tail", libraries="bench")
    mean = {row[0].strip(): int(row[1]) for row in re.findall(r"^(.*?)  +([0-9]+) ", output, re.M)}
    seen = [ns for what, ns in mean.items() if what.startswith("recorded")]
    assert len(seen) == 3 and 0 <= calls - cost["calls"] < 128
    assert sum(seen) / 3 / 2 < cost["ns_per_call"] < sum(seen) / 3 * 2, (output, cost)
