# SPDX-License-Identifier: BSD-2-Clause
"""Work is queued and the device is idle all the same: the report must say why, and the host is innocent."""

import re

import pytest
import truth
from machine import once_in

ROUNDS = 20
LONG = 1_000_000
TRIES = 6  # a run takes a tenth of a second
HELD_UP = 2  # of the rounds, in which the machine keeps the recorder from looking


@truth.each_time
def record(recorder, case, rounds=ROUNDS, **settings):
    """Its report by device, and the truth it agrees with."""
    run = recorder.run(recorder.command("waits_linked", case, rounds), env=settings, realtime=True)
    assert run.status == 0, run.stderr
    true, report = truth.Truth(run), run.report()
    truth.check_sound(report, true)
    return {device["device"]: device for device in report["devices"]}, true


def told(device):
    return {cause: ns for cause, ns in device["causes"].items() if ns}


def long_causes(device, at_least=LONG):
    """Of each gap of 1 ms and more, the cause that owns most of it."""
    return [max(gap["causes"], key=lambda cause: cause["end_ns"] - cause["begin_ns"])
            for gap in device["gaps"] if gap["end_ns"] - gap["begin_ns"] >= at_least]


def check_waited(device, true, share):
    """Of the time in which work was queued and waited, by the driver's own log; what the host was late with is not the dependency's.
    -> the causes that own most of the long gaps, and are it."""
    waited = true.waited(device["device"])
    rounds = sum(ns >= LONG for _, ns in waited)
    assert rounds >= ROUNDS / 2, "this machine has no time for the program"
    assert share * sum(ns for _, ns in waited) < device["causes"]["device-dependency"], (told(device), waited)
    causes = long_causes(device)
    dependencies = [cause for cause in causes if cause["id"] == "device-dependency"]
    assert len(dependencies) >= rounds - HELD_UP, causes
    return dependencies


def check_dependency(device, true, evidence):
    """1.4 ms of each round, in which the other device works: observed, and with its name."""
    for cause in check_waited(device, true, 0.9):
        assert cause["confidence"] == "observed"
        assert any(evidence in text for text in cause["evidence"]), cause


def test_between_devices(recorder):
    def check():
        devices, true = record(recorder, "devices", SIMGPU_DEVICES=2)
        assert "device-dependency" not in told(devices[0])
        check_dependency(devices[1], true, "behind longer__1500us in stream")
    once_in(TRIES, check)


def test_through_a_third_device(recorder):
    """The device between passes the wait on and does nothing itself: it is not in the report, and the dependency is the first's."""
    def check():
        devices, true = record(recorder, "relay", SIMGPU_DEVICES=3)
        assert sorted(devices) == [0, 2]
        check_dependency(devices[2], true, "of device 0")
    once_in(TRIES, check)


VALUE = r"stream \d+ waited for the value at 0x[0-9a-f]+ to be \d+ or more"
VALUES = {
    "values": ("observed", VALUE + r", written behind longer__1500us in stream \d+ of device 0"),
    "late": ("observed", VALUE + r", written by cuStreamWriteValue32_v2 in stream \d+ of device 0"),
    "unseen": ("inferred", VALUE + r" \(wait at byte \d+\); who wrote that is not on record"),
}


@pytest.mark.parametrize("case, confidence, evidence", [(case, *told) for case, told in VALUES.items()])
def test_for_a_value(recorder, case, confidence, evidence):
    """In memory: the write after which it held is the producer, or what that stood behind; of the host's own store there is no record."""
    def check():
        devices, true = record(recorder, case, SIMGPU_DEVICES=2)
        for cause in check_waited(devices[1], true, 0.9):
            assert cause["confidence"] == confidence and any(re.search(evidence, text) for text in cause["evidence"]), cause
        assert "device-contention" not in told(devices[1])
    once_in(TRIES, check)


def test_between_streams(recorder):
    """There is one context, so that its waits get no edges of their own: of the recorder's events, each round has those around the host
    function and before the synchronise."""
    def check():
        devices, true = record(recorder, "streams")
        for cause in check_waited(devices[0], true, 0.85):
            assert any(re.search(r"stream \d+ waited for event 0x[0-9a-f]+ behind a host function in stream \d+ of device 0", text)
                       for text in cause["evidence"]), cause
    once_in(TRIES, check)


def test_within_a_graph(recorder, build):
    """Nodes that were measured: by the graph's edges the second kernel stood behind the host node, of 1.5 ms, which nothing measures."""
    def check():
        libraries = f"{build / 'cupti'}:{build / 'simgpu'}"
        devices, _ = record(recorder, "graph", LD_LIBRARY_PATH=libraries, GPUSHIM_DEVICE="cupti")
        assert devices[0]["causes"]["device-dependency"] > 0.8 * ROUNDS * 1_500_000, told(devices[0])
        causes = [cause for cause in long_causes(devices[0]) if cause["id"] == "device-dependency"]
        assert len(causes) >= ROUNDS - HELD_UP
        for cause in causes:
            assert cause["confidence"] == "observed"
            assert any("by the graph's edges the work stood behind a host node" in text for text in cause["evidence"]), cause
    once_in(TRIES, check)


@pytest.mark.parametrize("latency", [100, 700])
def test_latency(recorder, latency):
    """A device that always takes this long looks, from the host, like a clock that is as much ahead: the report must be sound, and
    nobody else is to blame."""
    devices, _ = record(recorder, "latency", 8, SIMGPU_LATENCY_US=latency)
    assert devices[0]["causes"]["device-contention"] == 0
    assert devices[0]["causes"]["device-dependency"] == 0
