# SPDX-License-Identifier: BSD-2-Clause
"""Programs of many parts at once, compared with the truth: eight streams on each of four devices, three processes on one device,
captures in global mode, graphs in graphs. The program says itself how much work it gave to each device."""

import re

import pytest
import truth
from machine import once_in

GAP = 2_000_000  # the program sleeps for 3 ms between rounds, on every device


def given(run):
    """What the processes say they gave to each device."""
    operations = {}
    for device, count in re.findall(r"^device (\d+): (\d+) operations$", run.stdout, re.M):
        operations[int(device)] = operations.get(int(device), 0) + int(count)
    return operations


def check_parts(run, processes, devices):
    assert run.status == 0, run.stderr
    report, true = run.report(), truth.Truth(run)
    assert report["run"]["processes"] == processes == len(run.traces())
    assert given(run) == {device["device"]: device["operations"] for device in report["devices"]}
    assert len(report["devices"]) == devices == len({device["uuid"] for device in report["devices"]})
    return report, true


def check(run, devices, processes=1):
    """Several processes on one device: as sound as alone."""
    report, true = check_parts(run, processes, devices)
    truth.check_sound(report, true)
    return report, true


def missed_pauses(report, true, rounds):
    """Every pause is a gap, on every device: the report claims at least the middle of it. Those of which that is not so. No pause is what a
    device waits while the next ones are set up: that is short, but on a busy machine, and nothing is waited for before it."""
    set_up = max(min(op.start for op in true.ops if op.device == device) for device in true.devices())
    for device in report["devices"]:
        pauses = [gap for gap in true.gaps(device["device"]) if gap.end - gap.begin > GAP and gap.begin >= set_up]
        assert len(pauses) >= rounds - 1
        for pause in pauses:
            middle = (pause.begin + pause.end) // 2
            if not any(gap["begin_ns"] < middle < gap["end_ns"] for gap in device["gaps"]):
                yield f"device {device['device']}: {pause}"


def test_eight_streams_on_four_devices(recorder):
    """Sound each time; that no pause is missed, once in three: the kernel takes the CPU from real-time threads for 50 ms now and then."""
    def all_found():
        run = recorder.run(recorder.command("scenario_linked", 12, "eager", "peers"), env={"SIMGPU_DEVICES": 4}, realtime=True)
        report, true = truth.each_time(check)(run, 4)
        assert all(device["streams"] == 8 for device in report["devices"])
        assert list(missed_pauses(report, true, 12)) == []
    once_in(3, all_found)


def test_three_processes_on_one_device(recorder, tmp_path):
    command = recorder.command("scenario_linked", 10, "eager")
    run = recorder.run_together([command] * 3, env={"SIMGPU_SHARED": tmp_path / "device"})
    report, _ = check(run, 1, processes=3)
    assert report["devices"][0]["streams"] == 24


def test_three_processes_on_four_devices(recorder, tmp_path):
    command = recorder.command("scenario_linked", 6, "eager", "peers")
    run = recorder.run_together([command] * 3, env={"SIMGPU_SHARED": tmp_path / "devices", "SIMGPU_DEVICES": 4})
    check(run, 4, processes=3)


NODES = {"captured": 6, "captured with a launch in it": 3, "of graphs in graphs": 5}


def check_nodes(run, devices, processes=1):
    """In each device's graphs there is exactly what the program put in: the recorder added nothing."""
    printed = re.findall(r"^device (\d+): graph (.*): (\d+) nodes$", run.stdout, re.M)
    assert sorted(printed) == sorted((str(device), what, str(nodes)) for device in range(devices) for what, nodes in NODES.items()
                                     for _ in range(processes))


def test_capture_in_global_mode_and_graphs_in_graphs(recorder):
    run = recorder.run(recorder.command("scenario_linked", 10, "graphs"), realtime=True)
    report, true = check(run, 1)
    check_nodes(run, 1)
    assert not list(missed_pauses(report, true, 10))


def test_everything_at_once(recorder, tmp_path):
    command = recorder.command("scenario_linked", 5, "eager", "graphs", "peers")
    run = recorder.run_together([command] * 3, env={"SIMGPU_SHARED": tmp_path / "devices", "SIMGPU_DEVICES": 4})
    check(run, 4, processes=3)
    check_nodes(run, 4, processes=3)
