# SPDX-License-Identifier: BSD-2-Clause
"""A program that submits more slowly than the device works: without a look at the device in between, no record shows when it was idle.
That time is stated as unresolved and never claimed. Where the program itself asks, and is told that the device is done, idle time is
proven, and belongs to the host."""

import pytest
import truth
from machine import on_a_busy_machine

US = 1_000
LAUNCHES = 1000


@truth.each_time
def record(recorder, *options, **settings):
    run = recorder.run(recorder.command("launch_bound_linked", *options), env=settings, realtime=True)
    assert run.status == 0, run.stderr
    true, report = truth.Truth(run), run.report()
    truth.check_sound(report, true)
    (device,) = report["devices"]
    assert device["operations"] == options[0]
    return device, true


def assert_not_claimed(device, true):
    """But for the few silences of 200 us that a busy machine makes: there the recorder looks, and knows."""
    assert device["idle_ns"] - device["idle_error_ns"] <= 0.02 * true.idle(0)
    assert device["unresolved_ns"] > 0.9 * true.idle(0)


@pytest.mark.parametrize("spacing", [20, 50, 100])
@on_a_busy_machine
def test_unresolved(recorder, spacing):
    """Nine tenths of the time are idle and none of them are claimed; nor is anything said to be busy that is not: the rest is unresolved."""
    device, true = record(recorder, LAUNCHES, spacing, 0)
    assert true.idle(0) > 0.6 * device["span_ns"]
    assert_not_claimed(device, true)


@pytest.mark.parametrize("spacing", [20, 100])
@on_a_busy_machine
def test_asks_now_and_then(recorder, spacing):
    """Every tenth launch it asks at once: the kernel (long enough for a stack to be taken in between) is not done yet, which proves nothing
    idle."""
    device, true = record(recorder, LAUNCHES, spacing, 10, spacing * 2 // 5)
    assert_not_claimed(device, true)


@on_a_busy_machine
def test_slow_launches(recorder):
    """A launch takes the host 60 us, its kernel is done before it returns, and the program asks each time: the gaps are there, and their
    owner is launch-bound."""
    device, true = record(recorder, LAUNCHES, 0, 1, SIMGPU_LAUNCH_NS=60 * US)
    told = {cause: ns for cause, ns in device["causes"].items() if ns}
    assert device["causes"]["launch-bound"] > 0.9 * device["idle_ns"] > 0, told
    assert len(device["gaps"]) > 0.9 * LAUNCHES
    assert device["idle_ns"] + device["idle_error_ns"] > true.idle(0)


@on_a_busy_machine
def test_computes_between(recorder):
    """The same, but between two launches it runs code of its own for ten times as long: not launch-bound."""
    device, _ = record(recorder, LAUNCHES // 10, 600, 1, SIMGPU_LAUNCH_NS=60 * US)
    assert device["causes"]["launch-bound"] == 0
