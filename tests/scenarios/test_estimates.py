# SPDX-License-Identifier: BSD-2-Clause
"""What bursts estimate, compared with the simulated driver's log. scripts/prove-bursts does the same at length."""

import pytest
import truth

SHAPES = ("launch-bound", "streams")
SECONDS = 0.6
EACH = 4
# An interval of 95 % misses the truth in 3 of 8 runs once in 170 times; then there is a second attempt, which makes that once in 30,000.
NEEDED = 6


def estimate(recorder, shape, seed):
    """(device, true idle time)"""
    run = recorder.run(recorder.command("idle_shapes_linked", shape, SECONDS, seed), env={"GPUSHIM_DEVICE": "bursts"}, realtime=True)
    assert run.status == 0, run.stderr
    true, report = truth.Truth(run), run.report()
    truth.check_sound(report, true)
    assert report["run"]["device_timing"] == "bursts"
    (device,) = report["devices"]
    return device, true.idle(0)


def check_estimate(device):
    assert device["bursts"]["basis"] == "measured" and device["bursts"]["bursts"] >= 3
    assert 0 <= device["unresolved_idle_low_ns"] <= device["unresolved_idle_ns"] <= device["unresolved_idle_high_ns"] <= device["unresolved_ns"]
    assert device["likely_idle_low_ns"] <= device["likely_idle_ns"] <= device["likely_idle_high_ns"]
    assert sum(device["unresolved_causes"].values()) == device["unresolved_idle_ns"]


def holds(device, idle):
    """Both intervals: all idle time, and that of the unresolved time beside what is proven."""
    low = device["idle_ns"] - device["idle_error_ns"] + device["unresolved_idle_low_ns"]
    high = device["idle_ns"] + device["idle_error_ns"] + device["unresolved_idle_high_ns"]
    return device["likely_idle_low_ns"] <= idle <= device["likely_idle_high_ns"] and low <= idle <= high


def test_the_truth_is_in_the_interval(recorder):
    for attempt in range(2):
        good = 0
        for seed in range(EACH * attempt, EACH * (attempt + 1)):
            for shape in SHAPES:
                device, idle = estimate(recorder, shape, seed)
                check_estimate(device)
                good += holds(device, idle)
        if good >= NEEDED:
            return
    pytest.fail(f"the interval holds the truth in {good} of {EACH * len(SHAPES)} runs, twice")


def test_the_host_is_the_cause(recorder):
    """It computes for less than a tenth of a millisecond between launches: its own accounts prove that where there are any, and elsewhere it is
    on its way from launch to launch."""
    device, _ = estimate(recorder, "launch-bound", 7)
    causes = device["unresolved_causes"]
    assert device["unresolved_idle_ns"] > 0.2 * device["span_ns"]
    assert causes["launch-bound"] + causes["host-compute"] > 0.7 * device["unresolved_idle_ns"]
