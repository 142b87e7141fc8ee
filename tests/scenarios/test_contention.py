# SPDX-License-Identifier: BSD-2-Clause
"""Another process has the device: a start is late by far more than a start takes. The truth is what the simulated driver says of each kernel's start."""

import json
import subprocess

import pytest
import truth
from machine import once_in

ROUNDS = 16
LATE = 200_000  # no start on a free device takes that long
TRIES = 4


def delays(path):
    """Of each kernel but the first, before which a device's time does not begin: from its submission to its start."""
    kernels = [json.loads(line) for line in path.read_text().splitlines() if '"op":"kernel"' in line]
    return [kernel["start_ns"] - kernel["submit_ns"] for kernel in kernels[1:]]


def findings(report):
    return [cause for device in report["devices"] for gap in device["gaps"] for cause in gap["causes"] if cause["id"] == "device-contention"]


@pytest.fixture
def other(recorder):
    """The other process, on the device whose file it returns; not recorded."""
    folder = recorder.new_folder()
    settings = {"SIMGPU_SHARED": folder / "device"}
    process = recorder.start(recorder.command("waits_linked", "other", 1000), folder, shim=False, env=settings, stdout=subprocess.DEVNULL)
    yield settings
    process.kill()
    process.wait()


def test_an_unrecorded_process(recorder, other):
    def check():
        run = recorder.run(recorder.command("waits_linked", "alone", ROUNDS), env=other, realtime=True)
        assert run.status == 0, run.stderr
        report = run.report()
        truth.check_sound(report, truth.Truth(run))
        late = [ns for ns in delays(run.folder / "truth.json") if ns >= LATE]
        assert len(late) >= 3, "the other process was hardly there"
        claimed = report["devices"][0]["causes"]["device-contention"]
        assert 0.85 * sum(late) <= claimed <= 1.05 * sum(late), (late, claimed)
        for cause in findings(report):
            assert cause["confidence"] == "inferred"
            assert any("an unrecorded process may have had the device" in text for text in cause["evidence"]), cause
    once_in(TRIES, check)


def test_a_recorded_process(recorder):
    """One report on both: while the other one runs the device is busy, and what its turns cost is no long gap. What is claimed names it."""
    folder = recorder.new_folder()
    commands = [recorder.command("waits_linked", case, rounds) for case, rounds in (("alone", ROUNDS), ("other", 5))]
    run = recorder.run_together(commands, env={"SIMGPU_SHARED": folder / "device"})
    assert run.status == 0, run.stderr
    report = run.report()
    truth.check_sound(report, truth.Truth(run))
    (device,) = report["devices"]
    pids = [int(trace.stem.rsplit("-", 1)[1]) for trace in run.traces()]
    late = [ns for ns in delays(run.truths[0]) if ns >= LATE]
    assert len(late) >= 3 and device["causes"]["device-contention"] < 0.2 * sum(late), (late, device["causes"])
    for cause in findings(report):
        if cause["confidence"] == "observed":
            assert any(f"process {pid} " in text for pid in pids for text in cause["evidence"]), cause


def test_nobody_else(recorder):
    def check():
        run = recorder.run(recorder.command("waits_linked", "alone", ROUNDS), env={"SIMGPU_SHARED": recorder.new_folder() / "device"}, realtime=True)
        assert run.status == 0, run.stderr
        assert not findings(run.report())
    once_in(TRIES, check)
