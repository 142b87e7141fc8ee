# SPDX-License-Identifier: BSD-2-Clause
"""Reports on what the tests' libcupti measured (GPUSHIM_DEVICE=cupti), against the simulated driver's own log: the same to the nanosecond."""

import json

import conservation
import pytest


def measured(recorder, build, name, *args, standin="", **env):
    command = recorder.command(name, *args)
    run = recorder.run(command, env={"LD_LIBRARY_PATH": f"{build / 'cupti'}:{build / 'simgpu'}", "GPUSHIM_DEVICE": "cupti",
                                     "CUPTI_STANDIN": standin, **env})
    assert run.status == 0, run.stderr
    return run


def truth(run):
    """{device: its operations}"""
    found = {}
    for log in run.truths:
        for line in log.read_text().splitlines():
            op = json.loads(line)
            if op.get("op", "hostfn") != "hostfn":
                found.setdefault(op["device"], []).append(op)
    return found


def merged(ops):
    busy = []
    for begin, end in sorted((op["start_ns"], op["end_ns"]) for op in ops):
        if busy and begin <= busy[-1][1]:
            busy[-1][1] = max(busy[-1][1], end)
        else:
            busy.append([begin, end])
    return busy


def union(ops):
    return sum(end - begin for begin, end in merged(ops))


@conservation.each_time
def agrees(report, known):
    assert [d["device"] for d in report["devices"]] == sorted(known)
    for device in report["devices"]:
        ops = known[device["device"]]
        busy = merged(ops)
        conservation.check_device(device)
        conservation.check_gaps(device)
        assert device["operations"] == len(ops)
        assert (device["begin_ns"], device["end_ns"]) == (busy[0][0], busy[-1][1])
        gaps = [(gap["begin_ns"], gap["end_ns"]) for gap in device["gaps"]]
        assert gaps == [(one[1], other[0]) for one, other in zip(busy, busy[1:])]
        assert device["idle_ns"] == sum(end - begin for begin, end in gaps)
        assert device["unresolved_ns"] == 0
        kernels = [op for op in ops if op["op"] == "kernel"]
        assert device["compute_ns"] + device["comm_exposed_ns"] == union(kernels)
        assert device["copy_exposed_ns"] == union(ops) - union(kernels)


PROGRAMS = {
    "everything": ("scenario_linked", 3, "eager", "graphs", "peers"),
    "random-work": ("client_linked", "--seed", 3),
    "graphs": ("graphs_linked", "plain"),
    "graphs-with-host-nodes": ("graphs_linked", "host"),
    "graphs-on-two-devices": ("graphs_linked", "two-devices"),
    "launch-bound": ("launch_bound_linked", 1000, 20, 0),
    "training": ("train.py", "--steps", 10),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_report_is_the_truth(recorder, build, program):
    run = measured(recorder, build, *PROGRAMS[program], SIMGPU_DEVICES=2)
    report = run.report()
    agrees(report, truth(run))
    assert report["run"]["device_timing"] == "cupti"
    assert report["losses"]["operations_unlinked"] == report["losses"]["operations_lost"] == 0
    assert report["run"]["activities"] == sum(map(len, truth(run).values()))


@conservation.each_time
def check_never_idle(device, busy):
    for gap in device["gaps"]:
        assert not any(begin < gap["end_ns"] and end > gap["begin_ns"] for begin, end in busy), gap
    idle = sum(other[0] - one[1] for one, other in zip(busy, busy[1:]))
    assert device["idle_ns"] <= idle <= device["idle_ns"] + device["unresolved_ns"]


def test_what_cupti_dropped_is_never_idle(recorder, build):
    """Every twentieth record is lost: no gap holds any work, and the true idle time is within what is said."""
    run = measured(recorder, build, "scenario_linked", 8, "eager", "graphs", SIMGPU_DEVICES=1, standin="drop=20")
    report, known = run.report(), truth(run)
    (device,) = report["devices"]
    busy = merged(known[0])
    conservation.check_device(device)
    conservation.check_gaps(device)
    assert device["operations"] == len(known[0])
    assert report["losses"]["operations_lost"] >= len(known[0]) // 25 > 15
    assert report["losses"]["activities_dropped"] > 0
    check_never_idle(device, busy)
    assert device["unresolved_ns"] > 0


@pytest.mark.parametrize("standin, why", [("held", "another tool has it"), ("enable=15", "it refused")])
def test_where_cupti_is_not_to_be_had_the_run_goes_on_without(recorder, build, standin, why):
    run = measured(recorder, build, "scenario_linked", 2, "eager", standin=standin)
    report = run.report()
    assert run.stderr == ""
    assert report["run"]["device_timing"] in ("edges", "bursts") and report["run"]["activities"] == 0
    assert report["losses"]["operations_lost"] == 0
    for command in (["info"], ["report", "--trust"]):
        assert why in " ".join(recorder.gpushim(*command, run.out).stdout.split())
