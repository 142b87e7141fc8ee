# SPDX-License-Identifier: BSD-2-Clause
"""SIGKILL at level cupti: every call that had returned is in the trace, and of the work that was over well before the last thing CUPTI
handed over, every operation."""

import random
import time

import gst
from test_cupti import AS_ASKED, CUPTI, Program, Trace
from test_kill import THREADS, check, client_names, start, wait_for_first_call

MOMENTS = 4
AT_ONCE = 2
SYNC_STREAM, ANCHOR = 6, 5
BEFORE_NS = 500_000_000  # CUPTI hands over what is done every 50 ms; the last lot may be there in part


def ticks_at(trace, ns):
    """Of CLOCK_MONOTONIC; to a millisecond will do."""
    anchors = sorted(trace.of(ANCHOR, "<2Q"))
    if not anchors:
        return ns
    (first, first_ns), (last, last_ns) = anchors[0], anchors[-1]
    return first + (ns - first_ns) * (last - first) // (last_ns - first_ns)


def finished(trace, until):
    """{stream: the last submission that a wait, over by then, proves finished}"""
    last = {}
    for begin, end, seq, _, family, _, result, stream, *_ in trace.of(gst.CALL, "<2QIH2BiI2HI2Q"):
        if family == SYNC_STREAM and not result and end <= until:
            last[stream] = max(seq, last.get(stream, 0))
    return last


def check_activities(path):
    trace = Trace(path)
    assert trace.header_level() == CUPTI
    assert [(level.level, level.why) for level in trace.levels()] == [(CUPTI, AS_ASKED)]
    activities, submissions = trace.activities(), trace.submissions()
    seen = {(a.stream, a.seq) for a in activities}
    assert trace.dropped() == 0
    assert len(seen - set(submissions)) <= THREADS  # killed before it returned, its work long done: the machine had other things to do
    assert all(0 < a.begin <= a.end for a in activities)
    last = finished(trace, ticks_at(trace, max(a.end for a in activities) - BEFORE_NS))
    expected = {(stream, seq) for stream, seq in submissions if seq <= last.get(stream, 0)}
    assert expected <= seen, f"{len(expected - seen)} of {len(expected)} have no times"
    return len(expected)


def test_what_was_over_has_its_times(recorder, build):
    names = client_names(recorder)
    environment = Program(recorder, build).environment()
    rng = random.Random(1)
    for first in range(0, MOMENTS, AT_ONCE):
        running = []
        for seed in range(first, first + AT_ONCE):
            folder = recorder.new_folder()
            running.append((folder, *start(recorder, folder, seed, environment)))
        try:
            for _, child, counter in running:
                wait_for_first_call(child, counter)
            time.sleep(rng.uniform(1.2, 1.6))
        finally:
            for _, child, _ in running:
                child.kill()
                child.wait()
        for folder, _, counter in running:
            check(recorder, names, folder, counter)
            (path,) = (folder / "out").iterdir()
            assert check_activities(path) > 100
