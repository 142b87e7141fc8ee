# SPDX-License-Identifier: BSD-2-Clause
"""The faults on the driver's and the device's side in short, one seed each: what `make scenarios` asks of them at length, with some room for a machine
that is busy elsewhere."""

import matrix
import pytest
import runs
from machine import once_in
from scenarios import all_scenarios
from watching import why_not

STEPS, SEED = 6, 3
SCENARIOS = all_scenarios()
RIGHT, WRONG = 0.9, 0.05


def run(build, disk, name, how):
    made = runs.run(build, SCENARIOS[name], SEED, how, disk / f"{name}-{how}", STEPS)
    if "left_out" in made:
        pytest.skip(made["left_out"])
    assert "true" in made, made
    return made


def check(build, disk, name, how):
    def attempt():
        made = run(build, disk, name, how)
        assert made["own"] > 0, "the fault did not happen"
        assert made["own_right"] >= RIGHT * made["own"] and made["wrong"] <= WRONG * made["true"], made["matrix"]
    once_in(3, attempt)


@pytest.mark.parametrize("name", ["sync", "sync-other", "launch", "allocator", "module", "lazy", "comm", "dependency", "latency", "contended", "copy"])
def test_without_probes(build, disk, name):
    check(build, disk, name, "none")


@pytest.mark.parametrize("name", ["compiler", "output", "feeders"])
def test_with_probes(build, disk, name):
    if reason := why_not(build, "ebpf"):
        pytest.skip(f"--host ebpf: {reason}")
    check(build, disk, name, "ebpf")


@pytest.mark.parametrize("name", ["queued", "beside"])
def test_controls(build, disk, name):
    def attempt():
        made = run(build, disk, name, "none")
        assert made["control"]["share"] <= matrix.PROBED["control"], made["control"]["claimed"]
    once_in(3, attempt)
