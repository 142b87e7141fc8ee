# SPDX-License-Identifier: BSD-2-Clause
"""What bursts estimate, compared with the simulated driver's log. scripts/prove-bursts does the same at length."""

import pytest
import truth

SHAPES = ("launch-bound", "streams")
HARD = {"SIMGPU_DRIFT_PPM": 50, "SIMGPU_LATENCY_US": 20, "SIMGPU_QUEUE": 64}
SECONDS = 0.6
EACH = 4
# An interval of 95 % misses the truth in 3 of 8 runs once in 170 times; then there is a second attempt, which makes that once in 30,000.
NEEDED = 6


def estimate(recorder, shape, seed, seconds=SECONDS, **settings):
    """(device, true idle time)"""
    run = recorder.run(recorder.command("idle_shapes_linked", shape, seconds, seed), env={"GPUSHIM_DEVICE": "bursts", **settings}, realtime=True)
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


def width(device):
    """Of the wider interval, as a share of the span."""
    return max(device[f"{name}_idle_high_ns"] - device[f"{name}_idle_low_ns"] for name in ("likely", "unresolved")) / device["span_ns"]


# Of three runs two must hold the truth, and the middle one be so narrow (measured: 2 %); then there is a second attempt: an interval of 95 %
# fails twice once in 20,000 times. A run so slow that its bursts are too few holds nothing.
@pytest.mark.parametrize("shape, seconds, settings", [("launch-bound", SECONDS, HARD), ("graphs", 2, {})], ids=["hard", "graphs"])
def test_the_interval_is_narrow_too(recorder, shape, seconds, settings):
    for attempt in range(2):
        runs = [estimate(recorder, shape, 20 + 3 * attempt + seed, seconds, **settings) for seed in range(3)]
        measured = [run for run in runs if run[0]["bursts"]["basis"] == "measured"]
        for device, _ in measured:
            check_estimate(device)
        good, middle = sum(holds(device, idle) for device, idle in measured), sorted(width(device) for device, _ in runs)[1]
        if good >= 2 and middle <= 0.08:
            return
    pytest.fail(f"the interval holds the truth in {good} of 3 runs, and is {middle:.1%} wide, twice")


def test_the_host_is_the_cause(recorder):
    """It computes for less than a tenth of a millisecond between launches: its own accounts prove that where there are any, and elsewhere it is
    on its way from launch to launch."""
    device, _ = estimate(recorder, "launch-bound", 7)
    causes = device["unresolved_causes"]
    assert device["unresolved_idle_ns"] > 0.2 * device["span_ns"]
    assert causes["launch-bound"] + causes["host-compute"] > 0.7 * device["unresolved_idle_ns"]
