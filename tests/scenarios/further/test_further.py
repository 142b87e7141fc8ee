# SPDX-License-Identifier: BSD-2-Clause
"""The five programs are what they say: the recorder changes nothing that they print or log, and their truth is sound: phases of a thread that
submits neither overlap nor leave the run, and account for the loop's idle time. What the profiler makes of them is run_further.py's business."""

import json

import answers
import lab
import pytest
import run_further as further
from further import SCENARIOS

SEED = 1
COVERED = 0.95
# There where the machine has swap, a group, a slow file system, or others who want its CPUs; and a lock that is free takes no time.
OF_THE_MACHINE = {"cpu-contention", "cpu-throttled", "memory-stall", "input-network", "input-storage", "host-lock"}


class Recorded:
    def __init__(self, build, name, folder):
        self.name, self.folder = name, folder
        self.begin, self.end = further.run_alone(build, name, folder, SEED, recorded=True)
        self.spans = [json.loads(line) for line in (folder / "spans.jsonl").read_text().splitlines()]
        self.answer = answers.compare(folder, lab.report(build, folder), False)


@pytest.fixture(scope="module", params=SCENARIOS)
def recorded(request, build, tmp_path_factory):
    """A run under the recorder, without probes."""
    return Recorded(build, request.param, tmp_path_factory.mktemp("further") / request.param)


def told(folder):
    """By lines: there is no order between threads and processes."""
    return [sorted((folder / name).read_text().splitlines()) for name in ("output.txt", "log.txt") if (folder / name).exists()]


def test_the_recorder_changes_nothing(recorded, build, tmp_path):
    further.run_alone(build, recorded.name, tmp_path / recorded.name, SEED, recorded=False)
    bare = told(tmp_path / recorded.name)
    assert all(bare)
    assert told(recorded.folder) == bare


def test_phases_are_apart(recorded):
    truth = answers.Truth(recorded.folder)
    assert truth.phases
    for tid, phases in truth.phases.items():
        assert tid in truth.loops
        assert phases.overlaps() == []


def test_spans_lie_within_the_run(recorded):
    loops = [line for line in recorded.spans if line["role"] == "thread"]
    assert loops
    assert all(recorded.begin <= line["begin"] < line["end"] <= recorded.end for line in recorded.spans)


def test_the_truth_has_no_holes(recorded):
    assert recorded.answer.idle > 0
    assert recorded.answer.covered() >= COVERED


def test_it_has_the_causes_that_it_names(recorded):
    """All that no machine lacks, and no others."""
    had = {line["cause"] for line in recorded.spans if line["role"] in ("main", "device")}
    if (recorded.folder / "tenant.json").exists():
        had.add("device-contention")
    named = set(SCENARIOS[recorded.name][1])
    assert had - OF_THE_MACHINE <= named
    assert named - OF_THE_MACHINE <= had
