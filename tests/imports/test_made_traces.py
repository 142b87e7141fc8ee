# SPDX-License-Identifier: BSD-2-Clause
"""Traces made from seeds: the report is exact to the nanosecond, however the file says it, and the same for both formats."""

import json
import random

import pytest

import import_reference
import imported
from made_trace import made, write_kineto, write_nsys

EPOCH = 1_753_956_402_113_452_317  # ns of 2025, as whole microseconds and three decimals: more than a double holds

SHAPES = {"one": {}, "devices": {"devices": 3}, "processes": {"processes": 2, "devices": 2}, "long": {"steps": 30}, "epoch": {"epoch": EPOCH}}
SHARED = {"shared": {"processes": 3, "devices": 1}, "shared-by-some": {"processes": 5, "devices": 3}}  # Kineto has no word for it
WAYS = {"new": {}, "old": {"style": "old"}, "begins-and-ends": {"phases": "BE"}, "packed": {"packed": True}, "string-pids": {"string_pids": True},
        "base-time": {"base": True}, "any-order": {"shuffle": 1}, "finer-times": {"finer": True}, "all": {"style": "old", "packed": True, "string_pids": True, "phases": "BE"}}
SEEDS = range(4)


def agree(gpushim, path):
    trace = import_reference.read(path)
    said = imported.report(gpushim, path)
    assert trace.devices
    assert not trace.truncated, path
    imported.check(said, trace)
    return said


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("way", WAYS)
def test_kineto(gpushim, tmp_path, shape, way):
    for seed in SEEDS:
        agree(gpushim, write_kineto(tmp_path / f"{seed}.json", made(seed, **SHAPES[shape]), **WAYS[way]))


@pytest.mark.parametrize("shape", SHAPES)
def test_kineto_s_halves_in_any_order(gpushim, tmp_path, shape):
    for seed in SEEDS:
        what = made(seed, **SHAPES[shape])
        whole = import_reference.read(write_kineto(tmp_path / "whole.json", what))
        torn = write_kineto(tmp_path / f"{seed}.json", what, phases="BE", shuffle=seed)
        agree(gpushim, torn)
        assert import_reference.read(torn).devices == whole.devices


def overlapping(chance):
    """A stream's kernels, pair by pair, each beginning before the one before it ends; amid them one that ends before it begins, and one without
    an end: (the halves, the good ones)."""
    begins = [at * 10_000 + chance.randrange(2000) for at in range(chance.randrange(8, 40))]
    good = [(begin, begin + chance.randrange(12_000, 25_000)) for begin in begins]
    told = [[("B", begin), ("E", end)] for begin, end in good]
    glitch, lost = (chance.randrange(begins[-1] + 60_000) for _ in range(2))
    told.insert(chance.randrange(len(told) + 1), [("B", glitch), ("E", glitch - chance.randrange(1, 30_000))])
    told.insert(chance.randrange(len(told) + 1), [("B", lost)])
    return [half for halves in told for half in halves], good


@pytest.mark.parametrize("seed", range(100))
def test_one_glitch_and_one_lost_end_cost_no_other(gpushim, tmp_path, seed):
    """Each good one is told as it was, and nothing else."""
    halves, good = overlapping(random.Random(seed))
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [{"ph": phase, "pid": 0, "tid": 7, "ts": ns / 1000, "name": "k", "cat": "kernel", "args": {"device": 0, "stream": 7}}
                                                for phase, ns in halves]}))
    found = [(begin, end) for begin, end, _ in import_reference.complete(import_reference.Events(path.read_text()))]
    assert sorted(found) == good
    agree(gpushim, path)


def test_kineto_s_files_put_together(gpushim, tmp_path):
    """Each process has a device 0: they are not one."""
    for seed in SEEDS:
        said = agree(gpushim, write_kineto(tmp_path / f"{seed}.json", made(seed, processes=3, devices=3), ranks=True))
        assert len(said["devices"]) == 3


@pytest.mark.parametrize("shape", [*SHAPES, *SHARED])
def test_nsys(gpushim, tmp_path, shape):
    for seed in SEEDS:
        agree(gpushim, write_nsys(tmp_path / f"{seed}.sqlite", made(seed, **(SHAPES | SHARED)[shape])))


@pytest.mark.parametrize("shape", SHAPES)
def test_both_formats_say_the_same(gpushim, tmp_path, shape):
    what = made(11, **SHAPES[shape])
    kineto = agree(gpushim, write_kineto(tmp_path / "trace.json", what))
    nsys = agree(gpushim, write_nsys(tmp_path / "trace.sqlite", what))
    assert [imported.figures(d) for d in kineto["devices"]] == [imported.figures(d) for d in nsys["devices"]]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("part", [0.3, 0.55, 0.8, 0.999])
def test_a_cut_file_s_report_is_true_of_the_whole(gpushim, tmp_path, packed, part):
    """In the order of time, as a profiler writes; and as its parts lie one behind the other here: then what is told is less."""
    for order in ("time", "parts"):
        path = write_kineto(tmp_path / "trace.json", made(5, steps=12), packed=packed, phases="BE" if order == "time" else "X")
        whole, data = import_reference.read(path), path.read_bytes()
        path.write_bytes(data[:int(len(data) * part)])
        assert import_reference.read(path).truncated
        said = imported.report(gpushim, path, status=imported.DAMAGED)
        imported.check_sound(said, whole)
