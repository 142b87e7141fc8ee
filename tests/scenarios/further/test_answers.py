# SPDX-License-Identifier: BSD-2-Clause
"""answers.py on runs that are written by hand: one thread (10), a kernel until 1000, the next from 5000 on, submitted at 4990."""

import json

import answers
import pytest

THREAD, OTHER = 10, 11
KERNELS = [(0, 0, 1000), (4990, 5000, 6000)]


def span(cause, begin, end, **more):
    return {"cause": cause, "role": "main", "pid": 1, "tid": THREAD, "begin": begin, "end": end, **more}


@pytest.fixture
def answer(tmp_path):
    """answer(spans, [(cause, begin, end) that is said], waits=…, probed=…)"""
    def made(spans, said, waits=None, kernels=KERNELS, probed=True, **of_device):
        ops = [{"op": "kernel", "device": 0, "stream": 1, "submit_ns": submit, "start_ns": start, "end_ns": end}
               for submit, start, end in kernels]
        (tmp_path / "truth.json").write_text("".join(json.dumps(line) + "\n" for line in (*ops, {"calls": {}})))
        spans = [*spans, span("loop", 500, 5500, role="thread")]
        (tmp_path / "spans.jsonl").write_text("".join(json.dumps(line) + "\n" for line in spans))
        (tmp_path / "waits.json").write_text(json.dumps(waits or {}))
        causes = [{"id": cause, "begin_ns": begin, "end_ns": end} for cause, begin, end in said]
        return answers.compare(tmp_path, {"devices": [{"device": 0, "gaps": [{"causes": causes}], **of_device}]}, probed)
    return made


def test_each_moment_is_looked_at(answer):
    got = answer([span("host-sleep", 900, 3000), span("host-compute", 3000, 4500)], [("host-sleep", 1000, 2500), ("host-compute", 2500, 4000)])
    assert (got.idle, got.holes, got.excused) == (4000, 500, 0)
    assert got.said == {("host-sleep", "host-sleep"): 1500, ("host-sleep", "host-compute"): 500, ("host-compute", "host-compute"): 1000,
                        ("host-compute", "none"): 500}
    assert (sum(got.right.values()), sum(got.wrong.values())) == (2500, 500)
    assert got.covered() == 0.875
    assert got.differs == [(500, "host-sleep", "host-compute", 0, 2500, 3000, 0), (500, "host-compute", "none", None, 4000, 4500, 0)]


def test_another_right_name_is_right(answer):
    got = answer([span("input-wait", 900, 5000, also=["host-sleep"])], [("host-sleep", 1000, 5000)])
    assert got.right == {"host-sleep": 4000}


@pytest.mark.parametrize("probed, right, wrong", [(True, 0, 0), (False, 4000, 0)])
def test_input_wait_is_right_where_nothing_shows_more(answer, probed, right, wrong):
    got = answer([span("input-storage", 900, 5000)], [("input-wait", 1000, 5000)], probed=probed)
    assert (sum(got.right.values()), sum(got.wrong.values())) == (right, wrong)


def test_a_device_has_its_own_spans_once_work_is_queued(answer):
    spans = [span("sync-bubble", 900, 5000), span("device-dependency", 0, 6000, role="device", device=0)]
    queued = [(0, 0, 1000), (2000, 5000, 6000)]
    got = answer(spans, [("sync-bubble", 1000, 2000), ("device-dependency", 2000, 5000)], kernels=queued)
    assert got.right == {"sync-bubble": 1000, "device-dependency": 3000}
    assert answer(spans, [("device-dependency", 1000, 5000)], kernels=queued).wrong == {"sync-bubble": 1000}


def test_who_was_without_a_cpu_is_excused(answer):
    spans = [span("host-lock", 900, 5000, on=OTHER)]
    got = answer(spans, [("host-lock", 1000, 4000), ("host-sleep", 4000, 5000)], waits={OTHER: [[1500, 2500]], THREAD: [[4800, 5000]]})
    assert (got.excused, sum(got.right.values()), sum(got.wrong.values())) == (1200, 2000, 800)


def test_in_no_gap_by_what_is_estimated(answer):
    """4000 ns in no gap, 2500 of them launches': 3000 are estimated as idle, in an interval that the truth lies in, 2400 as launches' and 600
    as computing."""
    spans = [span("launch-bound", 900, 3500), span("sync-bubble", 3500, 5000)]
    estimate = {"unresolved_idle_ns": 3000, "unresolved_idle_low_ns": 1000, "unresolved_idle_high_ns": 5000,
                "unresolved_causes": {"launch-bound": 2400, "host-compute": 600, "sync-bubble": 0}}
    got = answer(spans, [], **estimate)
    assert +got.said == {("launch-bound", "launch-bound"): 2500, ("sync-bubble", "launch-bound"): 700, ("sync-bubble", "host-compute"): 800}
    assert (got.right, got.wrong) == ({"launch-bound": 2500}, {"sync-bubble": 1500})
    got = answer(spans, [], **{**estimate, "unresolved_idle_high_ns": 3500})
    assert +got.said == {("launch-bound", "launch-bound"): 2400, ("launch-bound", "host-compute"): 100, ("sync-bubble", "host-compute"): 500,
                         ("sync-bubble", "none"): 1000}


def test_an_estimate_by_another_right_name(answer):
    got = answer([span("launch-bound", 900, 5000, also=["sync-bubble"])], [], unresolved_idle_ns=1000, unresolved_idle_low_ns=0,
                 unresolved_idle_high_ns=2000, unresolved_causes={"sync-bubble": 1000})
    assert +got.said == {("sync-bubble", "sync-bubble"): 1000, ("launch-bound", "none"): 3000}
    assert got.right == {"sync-bubble": 1000}


def test_a_missing_cpu_may_be_misplaced_in_a_gap(answer):
    spans = [span("host-lock", 900, 5000)]
    waits = {THREAD: [[1500, 2500]]}
    got = answer(spans, [("cpu-contention", 3000, 4000), ("host-lock", 1000, 3000)], waits=waits)
    assert sum(got.wrong.values()) == 0
    assert answer(spans, [("cpu-contention", 3000, 4500), ("host-lock", 1000, 3000)], waits=waits).wrong == {"host-lock": 500}


def test_a_missing_cpu_that_the_trace_does_not_have_is_not_looked_at(answer):
    spans = [span("host-compute", 900, 2000), span("cpu-contention", 2000, 3000), span("host-compute", 3000, 5000)]
    got = answer(spans, [("host-compute", 1000, 5000)], waits={THREAD: [[2000, 2400]]})
    assert got.wrong == {"cpu-contention": 400}
    assert got.excused == 600


def test_how_long_a_cpu_was_missing_counts_and_not_when(answer):
    spans = [span("host-compute", 900, 2000), span("cpu-contention", 2000, 3000), span("host-compute", 3000, 5000)]
    got = answer(spans, [("host-compute", 1000, 4200), ("cpu-contention", 4200, 5000)])
    assert got.right == {"host-compute": 2200, "cpu-contention": 800}
    assert got.wrong == {"cpu-contention": 200}


def test_the_thread_that_had_just_begun_to_submit_owns_the_gap(answer):
    other = {"tid": OTHER}
    submits = [span("none", 2, 5400, role="submit"), *(span("none", at, at + 20, role="submit", **other) for at in (-10, 4980))]
    loop = span("loop", 500, 5500, role="thread", **other)
    spans = [*submits, loop, span("sync-bubble", 100, 5400), span("input-network", 900, 5000, **other)]
    assert answer(spans, [("input-network", 1000, 5000)]).right == {"input-network": 4000}


def test_a_rank_waits_for_what_the_other_does(answer):
    spans = [span("comm-host", 900, 5000, on=OTHER), span("checkpoint", 900, 2000, tid=OTHER), span("host-compute", 2000, 5000, tid=OTHER)]
    got = answer(spans, [("checkpoint", 1000, 3000), ("comm-host", 3000, 5000)])
    assert got.right == {"checkpoint": 1000, "comm-host": 2000}
    assert got.wrong == {"comm-host": 1000}
