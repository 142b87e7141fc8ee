# SPDX-License-Identifier: BSD-2-Clause
"""What a report says of an imported trace, beside what import_reference says of it: the same, to the nanosecond."""

import json
import subprocess

import conservation

DAMAGED = 3


def report(gpushim, *paths, status=0):
    done = subprocess.run([gpushim, "report", "--json", *paths], capture_output=True, text=True, timeout=280)
    assert done.returncode == status, (done.returncode, done.stderr[-2000:])
    return json.loads(done.stdout)


def figures(device):
    """In import_reference.Device's order; gaps as pairs."""
    return (device["begin_ns"], device["end_ns"], device["compute_ns"], device["comm_exposed_ns"], device["copy_exposed_ns"], device["idle_ns"],
            [(gap["begin_ns"], gap["end_ns"]) for gap in device["gaps"]], device["operations"])


def first_difference(ours, theirs):
    for name, mine, true in zip(("begin", "end", "compute", "comm_exposed", "copy_exposed", "idle", "gaps", "operations"), ours, theirs):
        if mine == true:
            continue
        if name == "gaps":
            wrong = next((i for i, pair in enumerate(zip(mine, true)) if pair[0] != pair[1]), min(len(mine), len(true)))
            return f"{len(mine)} gaps, of {len(true)} true ones; the first that differs, {wrong}: {mine[wrong:wrong + 1]}, truly {true[wrong:wrong + 1]}"
        return f"{name} {mine}, truly {true}"
    return None


def pairs(said, trace):
    """(what is said of a device, what is true of it). Devices that have one number are numbered apart by a report."""
    numbers = [device.device for device in trace.devices]
    if len(set(numbers)) == len(numbers):
        assert [device["device"] for device in said["devices"]] == numbers
        return list(zip(said["devices"], trace.devices))
    assert len(said["devices"]) == len(numbers)
    return list(zip(sorted(said["devices"], key=lambda device: device["begin_ns"]), sorted(trace.devices, key=lambda device: device.begin)))


def check_exact(device):
    assert (device["idle_error_ns"], device["unresolved_ns"]) == (0, 0), "measured times are exact"
    assert all(gap["begin_error_ns"] == gap["end_error_ns"] == 0 for gap in device["gaps"])


def check(said, trace):
    conservation.check(said)
    for device, true in pairs(said, trace):
        difference = first_difference(figures(device), tuple(true)[1:])
        assert difference is None, f"device {true.device}: {difference}"
        check_exact(device)
    assert said["run"]["source"] == trace.source and said["run"]["device_timing"] == "imported"


def check_sound(said, trace):
    """Of a file that is cut. A report ends where it knows of calls and of work alike. Up to there it claims no gap that there was not, and
    what it misses it calls unresolved."""
    conservation.check(said)
    for device, true in pairs(said, trace):
        end = device["end_ns"]
        known = [(begin, min(until, end)) for begin, until in true.gaps if begin < end]
        for gap in device["gaps"]:
            assert any(begin <= gap["begin_ns"] and gap["end_ns"] <= until for begin, until in known), f"no such gap: {gap['begin_ns']} to {gap['end_ns']}"
        idle = sum(until - begin for begin, until in known)
        assert device["idle_ns"] <= idle <= device["idle_ns"] + device["idle_error_ns"] + device["unresolved_ns"]
        assert device["begin_ns"] == true.begin and end <= true.end and 0 < device["operations"] <= true.operations


def check_empty(gpushim, path):
    """A file in which no device did anything: refused with the place, or a report without devices."""
    done = subprocess.run([gpushim, "report", "--json", path], capture_output=True, text=True, timeout=280)
    assert done.returncode in (0, DAMAGED), (done.returncode, done.stderr[-2000:])
    if done.returncode == 0:
        assert json.loads(done.stdout)["devices"] == []
    else:
        assert str(path) in done.stderr and len(done.stderr.splitlines()) <= 3, done.stderr[-2000:]
